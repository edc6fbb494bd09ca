/**
 * The client's side of a server's questions, for the SDK's client: what it declares, how a question
 * becomes one of ours, and a deadline that stands still while a person thinks. Never
 * answers itself.
 *
 * @module
 */

import type { Client, ClientCapabilities } from "@modelcontextprotocol/client";
import { type McpQuestion, type McpReply, readQuestion } from "core/mcp/question.ts";
import type { Clock } from "core/ports/clock.ts";

/** Who answers. */
export type AnswerQuestion = (question: McpQuestion) => Promise<McpReply>;

/** Questions of one call; a server that asks on is not asking for anything. */
const QUESTIONS_MAX = 16;

/**
 * What a client declares that answers questions; one without declares nothing, so none may come.
 */
export const ASKABLE: ClientCapabilities = {
  elicitation: { form: { applyDefaults: true }, url: {} },
};

/** The time that a call is given, without the time of people. */
export interface CallDeadline {
  readonly signal: AbortSignal;
  readonly isOver: () => boolean;
  /** A sign of life: it starts anew. */
  restart(): void;
  /** Runs what takes a person's time. */
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

/** Lets a client answer; one question at a time, because there is one person. */
export function answerQuestions(
  client: Client,
  answer: AnswerQuestion,
  deadline: CallDeadline,
): void {
  let count = 0;
  let turn: Promise<unknown> = Promise.resolve();
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    const question = readQuestion(params);
    if (!question.ok || ++count > QUESTIONS_MAX) return { action: "cancel" };
    const mine = turn.then(() => deadline.pauseFor(() => answer(question.value)));
    turn = mine.catch(() => {/* whoever asked was told */});
    const reply = await mine;
    return "content" in reply && reply.content !== undefined
      ? { action: reply.action, content: reply.content as Record<string, string> }
      : { action: reply.action };
  });
}
