/**
 * The hints of the source: what a refusal tells a person to paste.
 *
 * @module
 */

/** Files of the source in a folder. */
export async function* sourcesIn(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) yield* sourcesIn(path);
    else if (/\.tsx?$/.test(name)) yield path;
  }
}

/** The strings of each `hints: [...]`; what is in `${}` is no text of ours. */
export function hintsOfSource(source: string): readonly string[] {
  return [...source.matchAll(/\bhints: (?:[^[\n]*\? )?\[([^;]*?)\](?=[,\s})])/g)].flatMap((
    [, list],
  ) =>
    [...(list ?? "").matchAll(/"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`|'((?:[^'\\]|\\.)*)'/g)].map(
      ([, a, b, c]) => (a ?? b ?? c ?? "").replace(/\$\{[^}]*\}/g, "x"),
    )
  );
}
