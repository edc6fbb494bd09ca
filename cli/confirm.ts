/**
 * Asks for confirmation before a verb deletes something permanently. The prompt runs in the user's
 * own process: the program that runs the verb as root has no terminal and gets `--yes` instead.
 *
 * @module
 */

import type { CliDeps } from "cli/context.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { type Invocation, printTyped } from "core/verbs/invocation.ts";
import { verbName } from "core/verbs/verb.ts";

/**
 * Returns the invocation with `--yes` if the switch is given or the person types the expected name.
 */
export async function confirm(
  invocation: Invocation,
  deps: Pick<CliDeps, "promptLine">,
): Promise<Result<Invocation>> {
  const { verb, args, switches } = invocation;
  const { confirms } = verb;
  // A dry run deletes nothing.
  const isSettled = switches.has("yes") || switches.has("dry-run");
  if (confirms === undefined || isSettled) return ok(invocation);
  if (confirms !== true && !switches.has(confirms.withSwitch)) return ok(invocation);
  const name = confirms === true ? args[verb.target?.name ?? ""] ?? "" : confirms.word;
  const command = `fleetctl ${printTyped(invocation)}`;
  const answer = await deps.promptLine(
    `"${command}" cannot be undone. Type "${name}" to continue: `,
  );
  if (answer?.trim() === name) {
    return ok({ ...invocation, switches: new Set([...switches, "yes"]) });
  }
  return err(refusal(
    "not-confirmed",
    answer === undefined
      ? `Cannot run "${
        verbName(verb)
      }": there is no terminal to ask on, must be confirmed with --yes`
      : `Cannot run "${verbName(verb)}": what was typed is not "${name}"`,
    { kind: "usage", hints: [`fleetctl ${printTyped(invocation)} --yes`] },
  ));
}
