/**
 * Checks answers against the form of a question, and reads what a person types for a field. No I/O.
 *
 * @module
 */

import { QUESTION_LIMITS } from "core/limits/question.ts";
import type {
  QuestionField,
  QuestionForm,
  QuestionValue,
  QuestionValues,
} from "core/questions/form.ts";
import { err, ok, type Result } from "core/result.ts";
import { byteLength } from "core/text/cut_text.ts";
import { isRecord } from "core/text/json_object.ts";

const MUST_BE_GIVEN = "must be given";

/**
 * Returns the values to send, in the order of the form and without empty ones. An error has one
 * line for each faulty field, such as `colour: must be one of the options`. It has another line
 * when the whole answer is too long.
 */
export function checkValues(
  form: QuestionForm,
  given: unknown,
): Result<QuestionValues, readonly string[]> {
  if (!isRecord(given)) return err(["the answer is not an object"]);
  const known = new Set(form.fields.map(({ name }) => name));
  const faults = Object.keys(given).filter((name) => !known.has(name))
    .map((name) => `${JSON.stringify(name.slice(0, 80))}: the question has no such field`);
  const values: [string, QuestionValue][] = [];
  for (const field of form.fields) {
    const { name, required } = field;
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (isEmpty(value)) {
      if (required) faults.push(`${name}: ${MUST_BE_GIVEN}`);
      continue;
    }
    const fault = fieldFault(field, value);
    if (fault === undefined) values.push([name, value as QuestionValue]);
    else faults.push(`${name}: ${fault}`);
  }
  const { answerBytesMax } = QUESTION_LIMITS;
  const answer = Object.fromEntries(values);
  if (byteLength(JSON.stringify(answer)) > answerBytesMax) {
    faults.push(`the answer has more than ${answerBytesMax} bytes`);
  }
  return faults.length === 0 ? ok(answer) : err(faults);
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === "" ||
    Array.isArray(value) && value.length === 0;
}

/** Returns what a value of the field must be; undefined when the value is valid. */
export function fieldFault(field: QuestionField, value: unknown): string | undefined {
  const { kind } = field;
  switch (kind) {
    case "boolean":
      return typeof value === "boolean" ? undefined : "must be yes or no";
    case "number":
    case "integer": {
      const isFit = typeof value === "number" && Number.isFinite(value) &&
        (kind === "number" || Number.isSafeInteger(value));
      if (!isFit) return kind === "integer" ? "must be a whole number" : "must be a number";
      return rangeFault(field, value, "");
    }
    case "text":
      return typeof value === "string" ? textFault(field, value) : "must be text";
    case "choice":
      return optionFault(field, value);
    case "choices": {
      if (!Array.isArray(value)) return "must be a list of options";
      if (new Set(value).size < value.length) return "must name each option at most once";
      return value.map((one) => optionFault(field, one)).find((fault) => fault !== undefined) ??
        rangeFault(field, value.length, " options");
    }
  }
}

function optionFault(
  { options = [], allows_other: allowsOther }: QuestionField,
  value: unknown,
): string | undefined {
  if (typeof value !== "string" || value === "") return "must be one of the options";
  if (options.some((option) => option.value === value)) return undefined;
  return allowsOther === true ? controlFault(value) : "must be one of the options";
}

function textFault(field: QuestionField, value: string): string | undefined {
  return controlFault(value) ?? rangeFault(field, [...value].length, " characters") ??
    formatFault(field.format, value);
}

/** Allows tabs and line ends. Other control characters could control the reader's terminal. */
function controlFault(value: string): string | undefined {
  return /\p{Cc}/u.test(value.replace(/[\t\n\r]/g, ""))
    ? "must have no control characters"
    : undefined;
}

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/i;

function formatFault(format: string | undefined, value: string): string | undefined {
  switch (format) {
    case "email":
      return /^[^\s@]+@[^\s@]+$/.test(value) ? undefined : "must be an e-mail address";
    case "uri":
      return URL.canParse(value) ? undefined : "must be an address such as https://example.org/";
    case "date":
      return isDate(value, DATE) ? undefined : "must be a date such as 2026-01-31";
    case "date-time":
      return isDate(value, DATE_TIME) ? undefined : "must be a time such as 2026-01-31T12:00:00Z";
    default:
      return undefined;
  }
}

function isDate(value: string, form: RegExp): boolean {
  if (!form.test(value)) return false;
  // `Date` reads February 31 as a day in March, so the day must come back unchanged.
  const day = Number(value.slice(8, 10));
  const at = new Date(`${value.slice(0, 10)}T00:00:00Z`);
  return at.getUTCDate() === day && !Number.isNaN(Date.parse(value));
}

function rangeFault({ min, max }: QuestionField, value: number, unit: string): string | undefined {
  const isFit = (min === undefined || value >= min) && (max === undefined || value <= max);
  if (isFit) return undefined;
  if (max === undefined) return `must be at least ${min}${unit}`;
  return min === undefined ? `must be at most ${max}${unit}` : `must be ${min} to ${max}${unit}`;
}

/**
 * Parses what a person typed for a field. The number, value or label of an option selects it;
 * commas separate several options. An empty text gives the default, or undefined if the field is
 * optional. An error states what the value must be.
 */
export function readTyped(
  field: QuestionField,
  typed: string,
): Result<QuestionValue | undefined, string> {
  if (typed === "") {
    if (field.default !== undefined) return ok(field.default);
    return field.required ? err(MUST_BE_GIVEN) : ok(undefined);
  }
  const value = typedValue(field, typed);
  const fault = fieldFault(field, value);
  return fault === undefined ? ok(value as QuestionValue) : err(fault);
}

function typedValue(field: QuestionField, typed: string): unknown {
  switch (field.kind) {
    case "boolean":
      if (/^(y|yes|true)$/i.test(typed)) return true;
      return /^(n|no|false)$/i.test(typed) ? false : typed;
    case "number":
    case "integer":
      return typed.trim() === "" ? typed : Number(typed);
    case "choice":
      return optionNamed(field, typed) ?? typed;
    case "choices": {
      // A label may contain commas, so the whole text may be one option.
      const only = optionNamed(field, typed);
      if (only !== undefined) return [only];
      const words = typed.split(",").map((word) => word.trim()).filter((word) => word !== "");
      return [...new Set(words.map((word) => optionNamed(field, word) ?? word))];
    }
    case "text":
      return typed;
  }
}

function optionNamed({ options = [] }: QuestionField, word: string): string | undefined {
  return options.find(({ value, label }) => value === word || label === word)?.value ??
    options[/^\d+$/.test(word) ? Number(word) - 1 : -1]?.value;
}
