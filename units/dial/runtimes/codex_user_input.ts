/**
 * The request `item/tool/requestUserInput` of codex as a question to a person, and the answer in
 * the form that codex expects: a list of texts for each question. No I/O.
 *
 * @module
 */

import {
  boundedForm,
  lineOf,
  type QuestionField,
  type QuestionForm,
  type QuestionValues,
} from "core/questions/form.ts";
import { err, ok, type Result } from "core/result.ts";
import { fieldsOf, type Message, textOf } from "units/dial/runtimes/message.ts";

/** A readable request. */
export interface UserInput {
  readonly form: QuestionForm;
  /** Returns the result of the request. */
  answered(values: QuestionValues): Message;
}

/** Reads the parameters of the request; an error is part of a sentence. */
export function readUserInput({ questions }: Message): Result<UserInput, string> {
  if (!Array.isArray(questions) || questions.length === 0) return err("it has no questions");
  const fields: QuestionField[] = [];
  for (const one of questions) {
    const { id, header, question, isOther, isSecret, options } = fieldsOf(one);
    // The transcript shows every answer.
    if (isSecret === true) return err("it asks for a secret");
    const labels = Array.isArray(options) ? options.map(fieldsOf) : [];
    const title = lineOf(question) || lineOf(header);
    if (title === "") return err("one of its questions is unreadable");
    fields.push({
      name: textOf(id),
      title,
      required: true,
      ...(labels.length === 0 ? { kind: "text" } : {
        kind: "choice",
        options: labels.map(({ label, description }) => {
          const words = lineOf(description);
          return {
            value: textOf(label),
            label: lineOf(label),
            ...(words === "" ? {} : { description: words }),
          };
        }),
        ...(isOther === true ? { allows_other: true } : {}),
      }),
    });
  }
  const form = boundedForm({ mcp: null, message: "", fields });
  if (!form.ok) return form;
  return ok({
    form: form.value,
    answered: (values) => ({
      answers: Object.fromEntries(
        Object.entries(values).map(([name, value]) => [
          name,
          { answers: typeof value === "object" ? [...value] : [String(value)] },
        ]),
      ),
    }),
  });
}
