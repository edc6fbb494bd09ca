/**
 * Files of an npm tree that no running program reads: type declarations and source maps. They are
 * about half of all files, and each costs one stat before every start. No I/O.
 *
 * They are removed after the whole installed tree was compared with its pin, so pins cover the
 * installer's output. The TypeScript compiler reads declarations at run time, so its package keeps
 * them.
 *
 * @module
 */

const DECLARATIONS = /\.d\.[cm]?ts$/;
const SOURCE_MAPS = /\.([cm]?[jt]s|css)\.map$/;
const COMPILER = /(^|\/)typescript(@[^/]*)?\//;

/** Tells whether no running program reads a file; `path` is relative to the tree. */
export function isUnusedFile(path: string): boolean {
  return (DECLARATIONS.test(path) || SOURCE_MAPS.test(path)) && !COMPILER.test(path);
}
