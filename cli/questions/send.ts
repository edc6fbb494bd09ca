/**
 * Sends an answer to the agent's dial unit, for `fleetctl questions answer` and `decline`.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { unitOf } from "cli/waiting_units.ts";
import { linesReport, type VerbReport } from "cli/output.ts";
import { sendAnswer } from "cli/questions/queries.ts";
import { defined } from "core/defined.ts";
import type { QuestionView } from "core/dial/local_frames.ts";
import { refusal } from "core/errors.ts";
import { type QuestionValues, summaryOf } from "core/questions/form.ts";
import { err, ok, type Result } from "core/result.ts";
import { callerAgent, callerText } from "core/verbs/caller.ts";

/** Sends the answer and reports it. */
export async function send(
  context: VerbContext,
  question: QuestionView,
  given: { readonly action: "answered" | "declined"; readonly values?: QuestionValues },
): Promise<Result<VerbReport>> {
  const { caller } = context;
  const { id, agent } = question;
  // An admin agent may answer for other agents. Its own program must not answer itself.
  if (callerAgent(caller) === agent) return err(ownQuestion(id, agent));
  const { action, values } = given;
  const sent = await sendAnswer(unitOf(context, agent), {
    agent,
    id,
    action,
    by: callerText(caller),
    ...defined({ values }),
  });
  if (!sent.ok) return sent;
  return ok(linesReport(sent.value, [
    `${action}: ${summaryOf(question)} (agent "${agent}", ${id})`,
  ]));
}

function ownQuestion(id: string, agent: string) {
  return refusal(
    "question-not-yours",
    `Cannot answer question "${id}": a program of agent "${agent}" itself asks it, must be ` +
      "answered by another agent or an operator",
    { kind: "denied" },
  );
}
