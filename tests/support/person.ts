/**
 * A person at a terminal: starts a program under a new pseudo-terminal, types when the expected
 * text is on the screen, and reads the screen. It is the kernel's terminal, so echo, Ctrl-C and
 * Ctrl-D work as usual.
 *
 * @module
 */

/** The text to wait for on the screen, then the keys to type. */
export type Typed = readonly [screen: string, keys: string];

/** How the program ended. */
export interface AtTerminal {
  /** Exit code, or 128 plus the number of the signal that ended it. */
  readonly code: number;
  /** Everything that was on the screen. */
  readonly screen: string;
}

/** A person at a terminal, in a language that can fork one. argv: the steps, then the command. */
const PERSON = `
import json, os, pty, sys
steps, words = json.loads(sys.argv[1]), sys.argv[2:]
pid, end = pty.fork()
if pid == 0:
    os.execv(words[0], words)
seen, place = b"", 0
while True:
    try:
        part = os.read(end, 65536)
    except OSError:
        part = b""
    if not part:
        break
    seen += part
    while steps and (at := seen.find(steps[0][0].encode(), place)) >= 0:
        place = at + len(steps[0][0].encode())
        os.write(end, steps.pop(0)[1].encode())
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
json.dump({"code": code if code >= 0 else 128 - code, "screen": seen.decode()}, sys.stdout)
`;

/** Runs a program, given by its absolute path, until it ends. */
export async function atTerminal(
  words: readonly string[],
  typed: readonly Typed[],
  at: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<AtTerminal> {
  const { stdout, stderr, success } = await new Deno.Command("/usr/bin/python3", {
    args: ["-c", PERSON, JSON.stringify(typed), ...words],
    ...at,
    clearEnv: true,
    stdin: "null",
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout)) as AtTerminal;
}
