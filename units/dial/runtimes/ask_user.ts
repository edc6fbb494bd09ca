/**
 * The tool `AskUserQuestion` of Claude Code as a question to a person, and the answer in the form
 * that the tool expects: keyed by the text of each question, several labels with commas between. No
 * I/O.
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
import { isRecord } from "core/text/json_object.ts";
import { fieldsOf, type Message, textOf } from "units/dial/runtimes/message.ts";

/** Name of the tool. */
export const ASK_USER = "AskUserQuestion";

/** A readable use of the tool. */
export interface AskUser {
  readonly form: QuestionForm;
  /** Returns the tool's input with the answers. */
  answered(values: QuestionValues): Message;
}

/** Reads the tool's input; an error is part of a sentence. */
export function readAskUser(input: unknown): Result<AskUser, string> {
  const given = fieldsOf(input);
  const { questions } = given;
  if (!Array.isArray(questions) || questions.length === 0) return err("it has no questions");
  const fields: QuestionField[] = [];
  const texts = new Map<string, string>();
  for (const one of questions) {
    const { question, header, multiSelect, options } = fieldsOf(one);
    const text = textOf(question);
    const read = optionsOf(options);
    if (text === "" || read === undefined) return err("one of its questions is unreadable");
    const name = nameOf(header, texts);
    texts.set(name, text);
    fields.push({
      name,
      title: lineOf(text),
      kind: multiSelect === true ? "choices" : "choice",
      required: true,
      options: read,
      // The tool's description tells the model that this is possible.
      allows_other: true,
    });
  }
  const form = boundedForm({ mcp: null, message: "", fields });
  if (!form.ok) return form;
  return ok({
    form: form.value,
    answered: (values) => ({
      ...given,
      answers: Object.fromEntries(
        Object.entries(values).map(([name, value]) => [
          texts.get(name) ?? name,
          typeof value === "object" ? value.join(", ") : String(value),
        ]),
      ),
    }),
  });
}

function optionsOf(given: unknown): QuestionField["options"] {
  if (!Array.isArray(given) || given.length === 0) return undefined;
  const options = given.filter(isRecord).map(({ label, description }) => {
    const words = lineOf(description);
    return {
      value: textOf(label),
      label: lineOf(label),
      ...(words === "" ? {} : { description: words }),
    };
  });
  const isReadable = options.length === given.length && options.every(({ label }) => label !== "");
  return isReadable ? options : undefined;
}

/** A name that people can type: from the short header, or by position. */
function nameOf(header: unknown, taken: ReadonlyMap<string, string>): string {
  const slug = textOf(header).toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "")
    .slice(0, 32);
  return slug === "" || taken.has(slug) ? `question-${taken.size + 1}` : slug;
}
