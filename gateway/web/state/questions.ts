/**
 * Questions of programs to the owner, as the page shows them: parsing, and the values of a filled
 * form. No I/O; shapes are those of `docs/protocol.md`.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import {
  FIELD_KINDS,
  type QuestionField,
  type QuestionForm,
  type QuestionOption,
  type QuestionValue,
  type QuestionValues,
} from "core/questions/form.ts";
import { number, record, text } from "gateway/web/state/wire.ts";

/** One question that waits, or whose answer is being sent. */
export interface QuestionItem {
  readonly id: string;
  readonly turnId: string;
  readonly form: QuestionForm;
  readonly expires: number;
  readonly action: "answered" | "declined" | undefined;
}

/** Built-in tools of programs that ask the owner. */
const ASKING_TOOLS: ReadonlySet<string> = new Set(["AskUserQuestion", "request_user_input"]);

/** Whether a running call waits for the answer to one of the open questions. */
export function waitsForAnswer(
  { mcp, tool }: { readonly mcp: string | null; readonly tool: string },
  open: readonly QuestionItem[],
): boolean {
  if (mcp === null && !ASKING_TOOLS.has(tool)) return false;
  return open.some(({ form, action }) => action === undefined && form.mcp === mcp);
}

/** Parses the open questions; omits malformed ones. */
export function parseQuestions(value: unknown): readonly QuestionItem[] {
  const given: unknown = record(value).questions;
  return Array.isArray(given) ? given.flatMap((each) => parseQuestion(each) ?? []) : [];
}

function parseQuestion(value: unknown): QuestionItem | undefined {
  const given = record(value);
  const id = text(given.question_id);
  if (id === "") return undefined;
  const { action } = given;
  return {
    id,
    turnId: text(given.turn_id),
    form: parseForm(given),
    expires: number(given.expires),
    action: action === "answered" || action === "declined" ? action : undefined,
  };
}

/** Parses the form of a question or of its event. */
export function parseForm(given: Readonly<Record<string, unknown>>): QuestionForm {
  const { mcp, fields, url } = given;
  return {
    mcp: typeof mcp === "string" ? mcp : null,
    message: text(given.message),
    ...(typeof url === "string" ? { url } : {}),
    fields: Array.isArray(fields) ? fields.map(parseField) : [],
  };
}

function parseField(value: unknown): QuestionField {
  const given = record(value);
  const name = text(given.name);
  const optional = (part: unknown) => typeof part === "string" ? part : undefined;
  const count = (part: unknown) => typeof part === "number" ? part : undefined;
  return {
    name,
    title: text(given.title, name),
    // A kind of a newer version is filled in as text; the gateway checks the answer.
    kind: FIELD_KINDS.find((kind) => kind === given.kind) ?? "text",
    required: given.required === true,
    allows_other: given.allows_other === true,
    ...defined({
      description: optional(given.description),
      format: optional(given.format),
      min: count(given.min),
      max: count(given.max),
      default: parseValue(given.default),
      options: Array.isArray(given.options) ? given.options.map(parseOption) : undefined,
    }),
  };
}

function parseOption(given: unknown): QuestionOption {
  const { value, label, description } = record(given);
  return {
    value: text(value),
    label: text(label, text(value)),
    ...(typeof description === "string" ? { description } : {}),
  };
}

function parseValue(value: unknown): QuestionValue | undefined {
  if (Array.isArray(value)) return value.map((one) => text(one));
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? value
    : undefined;
}

/** Who asks: the MCP, or the agent's program itself. */
export function askerOf({ mcp }: Pick<QuestionForm, "mcp">, agent: string): string {
  return mcp === null ? agent : `MCP ${mcp}`;
}

/** Values of the controls of a form, by their names; a name may have several. */
export type Filled = ReadonlyMap<string, readonly string[]>;

/** Name of the controls of a field. */
export function controlName(at: number): string {
  return `field-${at}`;
}

/** Name of the text beside the options of a field. */
export function otherName(at: number): string {
  return `${controlName(at)}-other`;
}

/** Value of the control that selects the text beside the options. */
export const OTHER = "other";

/** Returns what a person filled in, unchecked. Options are numbered, because any text may be one. */
export function filledValues(
  { fields }: QuestionForm,
  filled: Filled,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fields.map((field, at) => [
      field.name,
      filledValue(field, filled.get(controlName(at)) ?? [], filled.get(otherName(at))?.[0] ?? ""),
    ]),
  );
}

function filledValue(
  { kind, options = [] }: QuestionField,
  picked: readonly string[],
  other: string,
): unknown {
  const [first = ""] = picked;
  const optionOf = (control: string) =>
    control === OTHER ? other.trim() : options[Number(control)]?.value ?? "";
  switch (kind) {
    case "text":
      return first;
    case "number":
    case "integer":
      return first.trim() === "" ? "" : Number(first);
    case "boolean":
      return first === "" ? "" : first === "yes";
    case "choice":
      return first === "" ? "" : optionOf(first);
    case "choices":
      return [...new Set(picked.map(optionOf))].filter((value) => value !== "");
  }
}

/** Faults of an answer, by the names of the fields; `""` has those of the whole answer. */
export function faultsByField(
  { fields }: QuestionForm,
  faults: readonly string[],
): ReadonlyMap<string, string> {
  return new Map(faults.map((line) => {
    const field = fields.find(({ name }) => line.startsWith(`${name}: `));
    return field === undefined ? ["", line] : [field.name, line.slice(field.name.length + 2)];
  }));
}

/** One answered field for display. */
export interface AnswerRow {
  readonly title: string;
  readonly text: string;
}

/** Returns the answers with the titles and labels that the person saw. */
export function answerRows(
  { fields }: QuestionForm,
  values: QuestionValues,
): readonly AnswerRow[] {
  return fields.flatMap((field) => {
    const value = parseValue(values[field.name]);
    if (value === undefined) return [];
    const labelOf = (one: string) =>
      field.options?.find((option) => option.value === one)?.label ?? one;
    const words = typeof value === "boolean"
      ? value ? "Yes" : "No"
      : typeof value === "object"
      ? value.map(labelOf).join(", ")
      : labelOf(String(value));
    return [{ title: field.title, text: words }];
  });
}
