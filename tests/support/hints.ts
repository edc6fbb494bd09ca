/**
 * Reads the hints of the source: the commands that a refusal offers for pasting.
 *
 * @module
 */

/** Yields the source files in a folder. */
export async function* sourcesIn(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) yield* sourcesIn(path);
    else if (/\.tsx?$/.test(name)) yield path;
  }
}

/** Returns the strings of each `hints: [...]`. Each `${…}` is replaced by `x`. */
export function hintsOfSource(source: string): readonly string[] {
  return [...source.matchAll(/\bhints: (?:[^[\n]*\? )?\[([^;]*?)\](?=[,\s})])/g)].flatMap((
    [, list],
  ) =>
    [...(list ?? "").matchAll(/"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`|'((?:[^'\\]|\\.)*)'/g)].map(
      ([, a, b, c]) => (a ?? b ?? c ?? "").replace(/\$\{[^}]*\}/g, "x"),
    )
  );
}
