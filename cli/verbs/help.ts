/**
 * `fleetctl help [<verb>…] [--man]`: prints help or the manual page. The text itself is in
 * `cli/help.ts`. Changes nothing.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { helpText } from "cli/help.ts";
import { manPage } from "cli/man_page.ts";
import { linesReport, type VerbReport } from "cli/output.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { nearest } from "core/verbs/nearest.ts";
import { type Invocation, notAvailable } from "core/verbs/invocation.ts";
import { verbNamed, VERBS } from "core/verbs/table.ts";
import { verbName } from "core/verbs/verb.ts";

/** Options of `fleetctl help`. */
export interface Options {
  readonly words: readonly string[];
  readonly isManPage: boolean;
}

/** Parses the words of a verb or a group. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const words = invocation.rest;
  const verb = verbNamed(words.join(" "));
  if (verb?.later) return err(notAvailable(verb));
  if (helpText(words) === undefined) {
    const guess = nearest(words.join(" "), VERBS.filter((one) => !one.later).map(verbName));
    return err(refusal(
      "verb-unknown",
      `Cannot show help of "${words.join(" ")}": there is no such verb`,
      { kind: "usage", hints: [guess === undefined ? "fleetctl help" : `fleetctl help ${guess}`] },
    ));
  }
  return ok({ words, isManPage: invocation.switches.has("man") });
}

/** Prints help or the manual page. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const text = options.isManPage ? manPage(context.version) : helpText(options.words) ?? "";
  return ok(linesReport({ text }, text.trimEnd().split("\n")));
}
