/**
 * The dialogs `select`, `input` and `editor` of a command-driven runtime as questions to a person.
 * Each has one field. No I/O.
 *
 * @module
 */

import {
  boundedForm,
  lineOf,
  type QuestionField,
  type QuestionForm,
  type QuestionReply,
} from "core/questions/form.ts";
import { err, type Result } from "core/result.ts";
import { type Message, textOf } from "units/dial/runtimes/message.ts";

/** Name of the only field, as people type it on the command line. */
const FIELD = "answer";

/** Returns a dialog as a form; an error is part of a sentence. */
export function readDialogForm(dialog: Message): Result<QuestionForm, string> {
  const field = fieldOf(dialog);
  if (field === undefined) return err("its options are unreadable");
  return boundedForm({ mcp: null, message: "", fields: [field] });
}

/** Returns the fields of the runtime's answer. */
export function dialogAnswer(reply: QuestionReply): Message {
  if (reply.action !== "accept") return { cancelled: true };
  // An empty text is omitted from the values.
  return { value: String(reply.values[FIELD] ?? "") };
}

function fieldOf(dialog: Message): QuestionField | undefined {
  const { method, title, options, placeholder, prefill } = dialog;
  const shown = { name: FIELD, title: lineOf(title) || "Answer" };
  if (method !== "select") {
    const description = lineOf(placeholder);
    return {
      ...shown,
      kind: "text",
      required: false,
      ...(description === "" ? {} : { description }),
      ...(textOf(prefill) === "" ? {} : { default: textOf(prefill) }),
    };
  }
  if (!Array.isArray(options) || options.length === 0) return undefined;
  const read = options.map((option) => ({ value: textOf(option), label: lineOf(option) }));
  if (!read.every(({ label }) => label !== "")) return undefined;
  return { ...shown, kind: "choice", required: true, options: read };
}
