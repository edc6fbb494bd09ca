/**
 * Dependencies for the questions of a driver, which record what it sends. Every question of a
 * program gets the same answer.
 *
 * @module
 */

import type { QuestionForm, QuestionReply } from "core/questions/form.ts";
import type { Message } from "units/dial/runtimes/message.ts";
import type { QuestionAsker } from "units/dial/runtimes/question.ts";

/** Returns the dependencies and their records; `reply` answers all questions. */
export function recordedAsks(reply: QuestionReply | QuestionAsker) {
  const sent: Message[] = [];
  const forms: QuestionForm[] = [];
  const denied: string[] = [];
  const deps = {
    send: (message: Message) => {
      sent.push(message);
      return Promise.resolve();
    },
    decide: () => Promise.reject(new Error("this is no permission request")),
    ask: (form: QuestionForm, signal: AbortSignal) => {
      forms.push(form);
      return typeof reply === "function" ? reply(form, signal) : Promise.resolve(reply);
    },
    proxied: new Set<string>(),
    onDenied: (callId: string) => {
      denied.push(callId);
    },
  };
  return { deps, sent, forms, denied };
}
