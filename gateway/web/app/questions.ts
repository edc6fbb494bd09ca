/**
 * Questions of programs to the owner of the open agent. The list is fetched again when something
 * about them changes; each question is answered once.
 *
 * @module
 */

import { signal } from "@preact/signals";
import type { QuestionValues } from "core/questions/form.ts";
import { now, selected } from "gateway/web/app/model.ts";
import { fetchQuestions, Refused, sendQuestionAnswer } from "gateway/web/device/cockpit.ts";
import type { QuestionItem } from "gateway/web/state/questions.ts";
import type { WireEvent } from "gateway/web/state/wire.ts";

/** Open questions of the open agent, oldest first. */
export const questions = signal<readonly QuestionItem[]>([]);
/** Ids whose answer is being sent. */
export const answering = signal<ReadonlySet<string>>(new Set());

let reading: AbortController | undefined;

/** Fetches the open agent's questions; only the newest request counts. */
export async function readOpenQuestions(): Promise<void> {
  const agent = selected.value;
  reading?.abort();
  if (agent === undefined) return forgetQuestions();
  const own = reading = new AbortController();
  // The stream reports a lost connection, and its reconnect triggers this fetch again.
  const open = await fetchQuestions(agent, own.signal).catch(() => undefined);
  if (open === undefined || own.signal.aborted || selected.value !== agent) return;
  now.value = Date.now();
  questions.value = open;
}

/** Whether the page shows a question, which may have ended meanwhile. */
export function hasShownQuestions(): boolean {
  return questions.value.length > 0;
}

/** Clears the list when another agent is opened. */
export function forgetQuestions(): void {
  questions.value = [];
}

/** Fetches again when events of the stream concern questions. */
export function onQuestionEvents(events: readonly WireEvent[]): void {
  if (events.some(({ kind }) => kind.startsWith("question_"))) void readOpenQuestions();
}

/** Sends an answer. Returns the faults to show; empty when it was sent. */
export async function answerQuestion(
  { id }: QuestionItem,
  answer: { readonly action: "answered" | "declined"; readonly values?: QuestionValues },
): Promise<readonly string[]> {
  const agent = selected.value;
  if (agent === undefined || answering.value.has(id)) return [];
  answering.value = new Set([...answering.value, id]);
  try {
    await sendQuestionAnswer({ agent, question_id: id, ...answer });
    questions.value = questions.value.map((each) =>
      each.id === id ? { ...each, action: answer.action } : each
    );
    return [];
  } catch (thrown) {
    return thrown instanceof Refused
      ? [thrown.problem.detail, ...thrown.problem.errors]
      : ["The gateway did not answer. Your answer may not have arrived"];
  } finally {
    answering.value = new Set([...answering.value].filter((one) => one !== id));
    await readOpenQuestions();
  }
}
