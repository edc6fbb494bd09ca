/**
 * Adapts hints to how `fleetctl` runs here: started from a source tree, it is not on PATH, and a
 * root other than the default must be named. Pure. JSON output is not adapted.
 *
 * @module
 */

import type { Refusal } from "core/errors.ts";
import { quoteShell } from "core/text/quote.ts";

/** How to run this program here. */
export interface LocalCommands {
  /** `./dev up`, or `fleetctl up`. */
  readonly up: string;
  /** The `--root` option of `up` with a leading blank; empty for the default root. */
  readonly upRoot: string;
  /** `./dev run fleetctl`, or `fleetctl`; preceded by the root if it is not the default one. */
  readonly verb: string;
}

/** Returns how to run this program for a root; without a tree, every root is named. */
export function localCommandsFor(tree: string | undefined, root: string): LocalCommands {
  const isUsual = tree !== undefined && root === `${tree}/.fleetctl`;
  const quoted = quoteShell(root);
  return {
    up: `${tree === undefined ? "fleetctl" : "./dev"} up`,
    upRoot: isUsual ? "" : ` --root ${quoted}`,
    verb: `${isUsual ? "" : `FLEETCTL_ROOT=${quoted} `}${
      tree === undefined ? "fleetctl" : "./dev run fleetctl"
    }`,
  };
}

/** Returns the refusal with hints that work here; unchanged outside a source tree. */
export function withLocalHints(
  reason: Refusal,
  env: Readonly<Record<string, string>>,
): Refusal {
  const commands = localCommandsOf(env);
  if (commands === undefined) return reason;
  return { ...reason, hints: reason.hints.map((hint) => localHint(hint, commands)) };
}

/**
 * Adapts the command in a line of a report: the whole line, or the part after a colon or
 * indentation.
 */
export function withLocalCommand(line: string, env: Readonly<Record<string, string>>): string {
  const commands = localCommandsOf(env);
  const [, before = "", command] = /^(|.*: | +)(fleetctl [a-z].*)$/s.exec(line) ?? [];
  return commands === undefined || command === undefined
    ? line
    : before + localHint(command, commands);
}

function localCommandsOf(env: Readonly<Record<string, string>>): LocalCommands | undefined {
  const tree = env.FLEETCTL_FROM_TREE;
  if (tree === undefined || tree === "") return undefined;
  return localCommandsFor(tree, env.FLEETCTL_ROOT || `${tree}/.fleetctl`);
}

function localHint(hint: string, { up, upRoot, verb }: LocalCommands): string {
  // A command before the last one: a pipe that supplies a value, or a step to run first.
  const [, before, last] = /^(.* (?:\||&&) )(fleetctl .*)$/s.exec(hint) ?? [];
  if (before !== undefined) return before + localHint(last ?? "", { up, upRoot, verb });
  const [, word = "", rest = ""] = /^fleetctl(?: (\S+)(.*))?$/s.exec(hint) ?? [];
  if (word === "") return hint;
  if (word !== "up") return `${verb} ${word}${rest}`;
  // A hint with its own `--root` means another root.
  return `${up}${/ --(root|help)\b/.test(rest) ? "" : upRoot}${rest}`;
}
