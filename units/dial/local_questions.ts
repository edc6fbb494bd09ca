/**
 * Questions to a person on the local socket: listing and answering. The kernel's peer credentials
 * determine who may answer: root, or the owner of a root other than `/`. The agent's own programs
 * ask, so they never answer.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { type LocalAnswer, type LocalRequest, questionViewOf } from "core/dial/local_frames.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { type PeerRights, wrongAgent } from "units/dial/local_approvals.ts";
import type { PersonQuestions } from "units/dial/person_questions.ts";

type QuestionRequest = Extract<LocalRequest, { type: "questions" | "question_answer" }>;

/** Answers a request that lists questions or answers one. Never waits. */
export function answerQuestions(
  request: QuestionRequest,
  questions: PersonQuestions,
  rights: PeerRights,
): LocalAnswer {
  if (request.type === "questions") {
    return { type: "questions_result", questions: questions.list().map(questionViewOf) };
  }
  if (!rights.mayDecide) return errorLine(notForAgent());
  const { agent, id, action, values, by } = request;
  if (agent !== rights.agent) return errorLine(wrongAgent(agent, rights.agent));
  const answered = questions.answer({ id, action, by, surface: "cli", ...defined({ values }) });
  return answered.ok
    ? { type: "question_result", question: questionViewOf(answered.value) }
    : errorLine(answered.error);
}

function errorLine({ code, message, details }: Refusal): LocalAnswer {
  return { type: "error", code, message: [message, ...details].join("; ") };
}

function notForAgent() {
  return refusal(
    "question-not-yours",
    "Cannot answer the question: the caller is the agent itself, must be root or the agent's " +
      "owner in the page",
    { kind: "denied" },
  );
}
