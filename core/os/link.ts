/**
 * Making symbolic links. Deno makes one only with the right to read and write every path, because
 * what a link means is decided later; a program whose set names folders asks `ln` instead, where it
 * may run it. The folder is still one that the set names.
 *
 * @module
 */

const LN = "/bin/ln";

/** Makes a link at `path`, where nothing is yet; throws as `Deno.symlinkSync` does. */
export function makeLink(target: string, path: string): void {
  if (isWhole("read") && isWhole("write") || !mayAskFor(path)) {
    Deno.symlinkSync(target, path);
    return;
  }
  const made = new Deno.Command(LN, {
    args: ["-s", "-n", "-T", "--", target, path],
    clearEnv: true,
    env: { LC_ALL: "C" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).outputSync();
  if (!made.success) throw linkFault(new TextDecoder().decode(made.stderr).trim());
}

function isWhole(name: "read" | "write"): boolean {
  return Deno.permissions.querySync({ name }).state === "granted";
}

function mayAskFor(path: string): boolean {
  return Deno.permissions.querySync({ name: "write", path }).state === "granted" &&
    Deno.permissions.querySync({ name: "run", command: LN }).state === "granted";
}

/** The words of `ln` for what callers tell apart. */
function linkFault(words: string): Error {
  const codes: readonly (readonly [RegExp, string])[] = [
    [/File exists/, "EEXIST"],
    [/No such file/, "ENOENT"],
    [/Permission denied|not permitted/, "EACCES"],
    [/No space left|quota exceeded/i, "ENOSPC"],
    [/Read-only/, "EROFS"],
    [/Not a directory/, "ENOTDIR"],
  ];
  const code = codes.find(([pattern]) => pattern.test(words))?.[1] ?? "EIO";
  return Object.assign(new Error(words), { code });
}
