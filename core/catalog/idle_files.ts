/**
 * Which files of an npm tree no running program reads: declarations of types and source maps. They
 * are about half of all files, and each costs a look before every start. No I/O.
 *
 * They are taken away after the whole installed tree was compared with its pin, so pins
 * are those of what the installer makes. The compiler reads declarations while it runs,
 * so its package keeps them.
 *
 * @module
 */

const DECLARATIONS = /\.d\.[cm]?ts$/;
const SOURCE_MAPS = /\.([cm]?[jt]s|css)\.map$/;
const COMPILER = /(^|\/)typescript(@[^/]*)?\//;

/** Whether a file of a tree, by its path relative to it, is one that nothing reads. */
export function isIdleFile(path: string): boolean {
  return (DECLARATIONS.test(path) || SOURCE_MAPS.test(path)) && !COMPILER.test(path);
}
