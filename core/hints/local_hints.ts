/**
 * Hints as they can be pasted here: a `fleetctl` that is started from its tree is not on PATH, and
 * a root other than the usual one has to be named. Pure; what is printed as JSON is not changed.
 *
 * @module
 */

import type { Refusal } from "core/errors.ts";
import { quoteShell } from "core/text/quote.ts";

/** How to call this program here. */
export interface Calling {
  /** `./dev up`, or `fleetctl up`. */
  readonly up: string;
  /** The option of `up` that names the root, with a blank before it; empty for the usual root. */
  readonly upRoot: string;
  /** `./dev run fleetctl`, or `fleetctl`, with the root in front when it is not the usual one. */
  readonly verb: string;
}

/** Returns how to call this program for a root; without a tree every root is named. */
export function callingFor(tree: string | undefined, root: string): Calling {
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

/** Returns the refusal with hints that can be pasted; outside of a tree they are as they were. */
export function withLocalHints(
  reason: Refusal,
  env: Readonly<Record<string, string>>,
): Refusal {
  const calling = callingOf(env);
  if (calling === undefined) return reason;
  return { ...reason, hints: reason.hints.map((hint) => localHint(hint, calling)) };
}

/**
 * Returns a line of a report whose command can be pasted: one that the line is, or that it ends
 * with after a colon.
 */
export function withLocalCommand(line: string, env: Readonly<Record<string, string>>): string {
  const calling = callingOf(env);
  const [, before = "", command] = /^(|.*: | +)(fleetctl [a-z].*)$/s.exec(line) ?? [];
  return calling === undefined || command === undefined
    ? line
    : before + localHint(command, calling);
}

function callingOf(env: Readonly<Record<string, string>>): Calling | undefined {
  const tree = env.FLEETCTL_FROM_TREE;
  if (tree === undefined || tree === "") return undefined;
  return callingFor(tree, env.FLEETCTL_ROOT || `${tree}/.fleetctl`);
}

function localHint(hint: string, { up, upRoot, verb }: Calling): string {
  // A value that is piped in, or what is to be done first.
  const [, before, last] = /^(.* (?:\||&&) )(fleetctl .*)$/s.exec(hint) ?? [];
  if (before !== undefined) return before + localHint(last ?? "", { up, upRoot, verb });
  const [, word = "", rest = ""] = /^fleetctl(?: (\S+)(.*))?$/s.exec(hint) ?? [];
  if (word === "") return hint;
  if (word !== "up") return `${verb} ${word}${rest}`;
  // A hint that names a root means another one than this.
  return `${up}${/ --(root|help)\b/.test(rest) ? "" : upRoot}${rest}`;
}
