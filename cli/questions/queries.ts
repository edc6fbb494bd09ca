/**
 * Questions of programs, read from and answered at each agent's dial unit.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { onlyWithId, queryUnits, type UnitAnswers } from "cli/waiting_units.ts";
import { defined } from "core/defined.ts";
import { query, type QueryTarget, unexpected } from "core/dial/local_query.ts";
import type { LocalRequest, QuestionView } from "core/dial/local_frames.ts";
import { isBounded } from "core/dial/question_wire.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { lineOf, linesOf } from "core/questions/form.ts";
import { QUESTION_LIMITS } from "core/limits/question.ts";
import { err, ok, type Result } from "core/result.ts";

/** Longest list of questions: forms and answers of all open ones and as many ended ones. */
const LIST_BYTES_MAX = 8 * QUESTION_LIMITS.openMax *
  (QUESTION_LIMITS.formBytesMax + QUESTION_LIMITS.answerBytesMax);

/** Reads the questions that the caller may see, or those of the target agent. */
export async function readQuestions(
  context: VerbContext,
): Promise<Result<UnitAnswers<QuestionView>>> {
  return await queryUnits(context, listQuestions);
}

/** Returns the only question whose id equals `id` or starts with it. */
export async function findQuestion(
  context: VerbContext,
  id: string,
): Promise<Result<QuestionView>> {
  const answers = await readQuestions(context);
  if (!answers.ok) return answers;
  const found = onlyWithId(answers.value, id, "question");
  if (found.ok) return found;
  return err(refusal(
    "question-unknown",
    `Cannot find question ${JSON.stringify(id.slice(0, 64))}: ${found.error}`,
    {
      hints: ["fleetctl questions list --all"],
      details: unreadQuestions(answers.value).map(({ message }) => message),
    },
  ));
}

/** Returns why questions of agents could not be read. */
export function unreadQuestions({ unread }: UnitAnswers<QuestionView>): readonly Refusal[] {
  return [...unread].map(([agent, state]) =>
    refusal("questions-unread", `Cannot read the questions of agent "${agent}": ${state}`, {
      hints: [`fleetctl agents show ${agent}`, `fleetctl agents restart ${agent}`],
    })
  );
}

async function listQuestions(target: QueryTarget): Promise<Result<readonly QuestionView[]>> {
  const answer = await query(target, { type: "questions" }, LIST_BYTES_MAX);
  if (!answer.ok) return answer;
  return answer.value.type === "questions_result"
    ? ok(answer.value.questions.filter(isBounded).map(plainView))
    : err(unexpected(answer.value));
}

/** The program behind the socket may report texts that would control the terminal. */
function plainView(view: QuestionView): QuestionView {
  return {
    ...view,
    id: lineOf(view.id),
    mcp: view.mcp === null ? null : lineOf(view.mcp),
    message: linesOf(view.message),
    fields: view.fields.map((field) => ({
      ...field,
      title: lineOf(field.title),
      ...defined({
        description: field.description === undefined ? undefined : lineOf(field.description),
        format: field.format === undefined ? undefined : lineOf(field.format),
        options: field.options?.map((option) => ({
          ...option,
          label: lineOf(option.label),
          ...defined({
            description: option.description === undefined ? undefined : lineOf(option.description),
          }),
        })),
      }),
    })),
  };
}

/** Sends an answer; the first one is final. */
export async function sendAnswer(
  target: QueryTarget,
  given: Omit<Extract<LocalRequest, { type: "question_answer" }>, "type">,
): Promise<Result<QuestionView>> {
  const answer = await query(target, { type: "question_answer", ...given }, LIST_BYTES_MAX);
  if (!answer.ok) return answer;
  return answer.value.type === "question_result"
    ? ok(answer.value.question)
    : err(unexpected(answer.value));
}
