/**
 * A runtime's question to a person, for any wire protocol. Cancels by default on every path: no
 * asker, or an asker that throws. No I/O.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { type Elicitation, readElicitation } from "core/questions/elicitation.ts";
import type { QuestionForm, QuestionReply, QuestionValues } from "core/questions/form.ts";
import { notice } from "units/dial/runtimes/message.ts";

/**
 * Asks a person. `cancel` means that no person has answered. `signal` aborts when the runtime no
 * longer waits for the answer.
 */
export type QuestionAsker = (form: QuestionForm, signal: AbortSignal) => Promise<QuestionReply>;

/** Calls `ask`; cancels without an asker and when `ask` throws. */
export async function askSafely(
  ask: QuestionAsker | undefined,
  form: QuestionForm,
  signal: AbortSignal,
): Promise<QuestionReply> {
  try {
    return await ask?.(form, signal) ?? { action: "cancel" };
  } catch {
    // The asker reports its own faults.
    return { action: "cancel" };
  }
}

/** The answer to an elicitation, as MCP defines it. */
export interface ElicitationResult {
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: QuestionValues;
}

/** An elicitation that can be asked, or the notice that it was cancelled and why. */
export type ReadElicitation =
  | { readonly form: QuestionForm; resultOf(reply: QuestionReply): ElicitationResult }
  | { readonly form: undefined; readonly notice: unknown };

/** Reads an elicitation. One that cannot be shown is cancelled, and the owner reads why. */
export function elicitationOf(given: Elicitation): ReadElicitation {
  const read = readElicitation(given);
  if (!read.ok) {
    const asker = given.mcp === null ? "The program" : `MCP ${JSON.stringify(given.mcp)}`;
    return {
      form: undefined,
      notice: notice(`${asker} asked a question, which was cancelled`, read.error),
    };
  }
  const form = read.value;
  return {
    form,
    resultOf: (reply) => ({
      action: reply.action,
      ...defined({
        content: reply.action === "accept" && form.url === undefined ? reply.values : undefined,
      }),
    }),
  };
}
