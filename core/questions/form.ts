/**
 * A question of a program to a person in one form for all protocols: a message and fields, or a
 * message and an address. The answer grants no right; it is only data for the program. No I/O.
 *
 * @module
 */

import { QUESTION_LIMITS } from "core/limits/question.ts";
import { err, ok, type Result } from "core/result.ts";
import { byteLength } from "core/text/cut_text.ts";

/** Kinds of fields. */
export const FIELD_KINDS = ["text", "number", "integer", "boolean", "choice", "choices"] as const;

/** One option of a `choice` or `choices`. */
export interface QuestionOption {
  readonly value: string;
  /** The text that people read. */
  readonly label: string;
  readonly description?: string | undefined;
}

/** One field. The names of its keys are those on the wire. */
export interface QuestionField {
  readonly name: string;
  readonly title: string;
  readonly description?: string | undefined;
  readonly kind: typeof FIELD_KINDS[number];
  readonly required: boolean;
  readonly options?: readonly QuestionOption[] | undefined;
  /** Whether an answer besides the options is accepted. */
  readonly allows_other?: boolean | undefined;
  readonly default?: QuestionValue | undefined;
  /** Smallest and largest number, length of a text, or number of choices. */
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** `email`, `uri`, `date` or `date-time`; others are not checked. */
  readonly format?: string | undefined;
}

/** A question. */
export interface QuestionForm {
  /** Name of the MCP that asks; null for the program itself. */
  readonly mcp: string | null;
  /** May be empty when the fields say everything. */
  readonly message: string;
  /** An address that the person opens, or not. Only shown; such a question has no fields. */
  readonly url?: string | undefined;
  readonly fields: readonly QuestionField[];
}

/** Answer to one field. */
export type QuestionValue = string | number | boolean | readonly string[];
/** Answers by the names of the fields; an omitted field has none. */
export type QuestionValues = Readonly<Record<string, QuestionValue>>;

/** The reply that a program gets; `cancel` when no person has answered. */
export type QuestionReply =
  | { readonly action: "accept"; readonly values: QuestionValues }
  | { readonly action: "decline" }
  | { readonly action: "cancel" };

/** Returns the form if its size is within the limits; an error is part of a sentence. */
export function boundedForm(form: QuestionForm): Result<QuestionForm, string> {
  const { fieldsMax, optionsMax, formBytesMax } = QUESTION_LIMITS;
  if (form.fields.length > fieldsMax) return err(`it has more than ${fieldsMax} fields`);
  if (new Set(form.fields.map(({ name }) => name)).size < form.fields.length) {
    return err("two of its fields have the same name");
  }
  for (const { name, kind, options = [] } of form.fields) {
    if (!isPlainName(name)) return err("the name of a field is unusable");
    const shown = JSON.stringify(name);
    if (options.length > optionsMax) {
      return err(`its field ${shown} has more than ${optionsMax} options`);
    }
    const values = new Set(options.map(({ value }) => value));
    const isChoice = kind === "choice" || kind === "choices";
    if (values.size < options.length || isChoice !== options.length > 0) {
      return err(`the options of its field ${shown} are unusable`);
    }
    if (![...values].every((value) => !CONTROL.test(value))) {
      return err(`an option of its field ${shown} has control characters`);
    }
  }
  return byteLength(JSON.stringify(form)) > formBytesMax
    ? err(`it has more than ${formBytesMax} bytes`)
    : ok(form);
}

/** Returns the question as one line: its message, or else the titles of its fields. */
export function summaryOf({ message, fields }: QuestionForm): string {
  return message === "" ? fields.map(({ title }) => title).join("; ") : lineOf(message);
}

/** Characters that cannot be shown, or that change how others are shown. */
const UNSHOWN = /[\p{Cc}\p{Cf}\u2028\u2029]+/gu;
const CONTROL = /\p{Cc}/u;

/** Makes text of a program fit to display: one line, without control characters. */
export function lineOf(value: unknown): string {
  return typeof value === "string" ? value.replace(UNSHOWN, " ").trim() : "";
}

/** Makes text of a program fit to display, and keeps its line breaks. */
export function linesOf(value: unknown): string {
  if (typeof value !== "string") return "";
  return value.split(/\r?\n/).map(lineOf).join("\n").trim();
}

/** People type the name, and the program must get it back unchanged. */
function isPlainName(name: string): boolean {
  return name !== "" && name.length <= QUESTION_LIMITS.nameLengthMax && name === lineOf(name) &&
    name !== "__proto__";
}
