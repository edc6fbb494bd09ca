/**
 * Creates symbolic links. Deno creates one only with permission to read and write every path,
 * because the target is resolved later. A program with narrower permissions runs `ln` instead,
 * where permitted. The link's folder must still be in its permission set.
 *
 * @module
 */

const LN = "/bin/ln";

/** Creates a link at `path`, which must not exist yet; throws as `Deno.symlinkSync` does. */
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

/** Maps messages of `ln` to the errors that callers distinguish. */
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
