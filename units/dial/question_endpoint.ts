/**
 * The dial unit's answer to a runtime that asks a person: opens the question, waits for the reply
 * and reports that the runtime has it. Replies `cancel` on every fault, so that a program never
 * waits for a question that no person can see.
 *
 * @module
 */

import type { Log } from "core/ports/log.ts";
import type { PersonQuestions } from "units/dial/person_questions.ts";
import type { QuestionAsker } from "units/dial/runtimes/question.ts";

/** Asks a person; cancels every question until the questions are open. */
export interface QuestionEndpoint {
  readonly ask: QuestionAsker;
  open(questions: PersonQuestions): void;
}

/** Creates the endpoint of one agent. */
export function createQuestionEndpoint({ log }: { readonly log: Log }): QuestionEndpoint {
  let questions: PersonQuestions | undefined;
  return {
    open: (opened) => {
      questions = opened;
    },
    ask: async (form, signal) => {
      const opened = questions?.ask(form);
      if (opened?.ok !== true) {
        log.warning("question not asked", { code: opened?.error.code ?? "agent-starting" });
        return { action: "cancel" };
      }
      const { reply, delivered, withdraw } = opened.value;
      // The program withdrew its question, so it is withdrawn for people too.
      signal.addEventListener("abort", withdraw, { once: true });
      if (signal.aborted) withdraw();
      try {
        const found = await reply;
        const stored = delivered();
        return stored.ok ? found : { action: "cancel" };
      } finally {
        signal.removeEventListener("abort", withdraw);
        withdraw();
      }
    },
  };
}
