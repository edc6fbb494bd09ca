/**
 * Handles a server's questions for the SDK's client: the declared capability, the conversion of a
 * question, and a deadline that pauses while a person answers. Never answers itself.
 *
 * @module
 */

import type { Client, ClientCapabilities } from "@modelcontextprotocol/client";
import type { Clock } from "core/ports/clock.ts";
import { readElicitation } from "core/questions/elicitation.ts";
import type { QuestionForm, QuestionReply } from "core/questions/form.ts";

/** Answers a question. */
export type AnswerQuestion = (question: QuestionForm) => Promise<QuestionReply>;

/** Maximum number of questions in one call; later ones are cancelled. */
const QUESTIONS_MAX = 16;

/** The capability of a client that answers questions. A client without it must get none. */
export const ASKABLE: ClientCapabilities = {
  elicitation: { form: { applyDefaults: true }, url: {} },
};

/** The time limit of a call, not counting the time that people take. */
export interface CallDeadline {
  readonly signal: AbortSignal;
  readonly isOver: () => boolean;
  /** Restarts the time limit after a sign of life. */
  restart(): void;
  /** Runs `work` while the time limit is paused, because a person takes part. */
  pauseFor<T>(work: () => Promise<T>): Promise<T>;
  stop(): void;
}

/** Starts a deadline. */
export function startDeadline(clock: Pick<Clock, "after">, ms: number): CallDeadline {
  const ending = new AbortController();
  let isOver = false;
  let paused = 0;
  let cancel = () => {};
  const arm = () => {
    cancel();
    if (paused > 0) return;
    cancel = clock.after(ms, () => {
      isOver = true;
      ending.abort();
    });
  };
  arm();
  return {
    signal: ending.signal,
    isOver: () => isOver,
    restart: arm,
    async pauseFor(work) {
      paused++;
      cancel();
      try {
        return await work();
      } finally {
        paused--;
        arm();
      }
    },
    stop() {
      paused++;
      cancel();
    },
  };
}

/** Lets a client answer questions one at a time, because there is one person. */
export function answerQuestions(
  client: Client,
  answer: AnswerQuestion,
  deadline: CallDeadline,
): void {
  let count = 0;
  let turn: Promise<unknown> = Promise.resolve();
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    const { message, mode, url, requestedSchema: schema }: Readonly<Record<string, unknown>> =
      params;
    const question = readElicitation({ mcp: null, message, mode, url, schema }, {
      isAtTerminal: true,
    });
    if (!question.ok || ++count > QUESTIONS_MAX) return { action: "cancel" };
    const mine = turn.then(() => deadline.pauseFor(() => answer(question.value)));
    turn = mine.catch(() => {/* the server that asked gets the fault */});
    const reply = await mine;
    return reply.action === "accept" && question.value.url === undefined
      ? { action: reply.action, content: reply.values as Record<string, string> }
      : { action: reply.action };
  });
}
