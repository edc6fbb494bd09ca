/**
 * Asks for confirmation before a verb deletes something permanently, or grants far-reaching rights.
 * The prompt runs in the user's own process: the program that runs the verb as root has no terminal
 * and gets `--yes` instead.
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
  const { verb, switches } = invocation;
  // A dry run changes nothing.
  const isSettled = switches.has("yes") || switches.has("dry-run");
  const asked = isSettled ? undefined : confirmationOf(invocation);
  if (asked === undefined) return ok(invocation);
  const { name, means } = asked;
  const command = `fleetctl ${printTyped(invocation)}`;
  const answer = await deps.promptLine(`"${command}" ${means}. Type "${name}" to continue: `);
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

/** Returns the name to type and what the command does; undefined when none is required. */
function confirmationOf(
  { verb, args, options, switches }: Invocation,
): { readonly name: string; readonly means: string } | undefined {
  const { confirms } = verb;
  const isFinal = "cannot be undone";
  if (confirms === undefined) return undefined;
  if (confirms === true) return { name: args[verb.target?.name ?? ""] ?? "", means: isFinal };
  if ("withSwitch" in confirms) {
    return switches.has(confirms.withSwitch) ? { name: confirms.word, means: isFinal } : undefined;
  }
  const { withOption, is, argument, means } = confirms;
  return options[withOption] === is ? { name: args[argument] ?? "", means } : undefined;
}
