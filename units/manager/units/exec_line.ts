/**
 * Reads `ExecStart=` lines and `Environment=` values, and expands variables at the start of a
 * service. No I/O. Syntax: systemd.service(5) "Command lines".
 *
 * @module
 */

import { err, ok } from "core/result.ts";
import { type Read, readWords, type Specifiers } from "units/manager/units/words.ts";

/** One program to run; variables are still unexpanded (`$NAME`). */
export interface ExecLine {
  /** Prefix `-`: a failure is recorded and otherwise ignored. */
  readonly mayFail: boolean;
  /** Absolute path of the program. */
  readonly program: string;
  readonly args: readonly string[];
}

/** Why a prefix of the program's path is refused. */
const REFUSED_PREFIXES: Readonly<Record<string, string>> = {
  "@": "another argv[0] is not supported",
  "+": "full privileges are not supported",
  "!": "changing privileges is not supported",
  ":": "switching variables off is not supported",
  "|": "running through a shell is not supported",
};
const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Reads one command line. */
export function readExecLine(value: string, specifiers: Specifiers): Read<ExecLine> {
  const words = readWords(value, specifiers);
  if (!words.ok) return words;
  if (words.value.some((word) => word.text === ";" && !word.quoted)) {
    return err("several commands in one line are not supported");
  }
  const [first, ...args] = words.value.map((word) => word.text);
  if (first === undefined) return err("the command is empty");
  const mayFail = first.startsWith("-");
  const program = mayFail ? first.slice(1) : first;
  const prefix = REFUSED_PREFIXES[program[0] ?? ""];
  if (prefix !== undefined) return err(`prefix "${program[0]}": ${prefix}`);
  if (!program.startsWith("/")) {
    return err(`the program ${JSON.stringify(program)} must be an absolute path`);
  }
  return ok({ mayFail, program, args });
}

/** Reads `NAME=value` words. */
export function readAssignments(
  value: string,
  specifiers: Specifiers,
): Read<readonly (readonly [string, string])[]> {
  const words = readWords(value, specifiers);
  if (!words.ok) return words;
  const assignments: [string, string][] = [];
  for (const { text } of words.value) {
    const equals = text.indexOf("=");
    const name = text.slice(0, Math.max(equals, 0));
    // The text may contain a secret: only the name is shown.
    if (!VARIABLE_NAME.test(name)) return err("each word must have the form NAME=value");
    assignments.push([name, text.slice(equals + 1)]);
  }
  return ok(assignments);
}

/**
 * Returns the arguments with variables expanded: `${NAME}` anywhere in a word, `$NAME` as a
 * separate word (split at spaces), `$$` for a dollar sign. An unset variable is empty.
 */
export function expandVariables(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): readonly string[] {
  return args.flatMap((arg) => {
    const whole = /^\$([A-Za-z_][A-Za-z0-9_]*)$/.exec(arg);
    if (whole !== null) return (environment[whole[1] ?? ""] ?? "").split(/\s+/).filter(Boolean);
    return [
      arg.replace(
        /\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g,
        (found, name: string | undefined) => found === "$$" ? "$" : environment[name ?? ""] ?? "",
      ),
    ];
  });
}
