/**
 * A program's question to a person, as an elicitation of ACP: the form that the editor shows, and
 * the answer to it. Pure.
 *
 * @module
 */

import type {
  CreateElicitationRequest,
  CreateElicitationResponse,
  ElicitationPropertySchema,
  StringFormat,
} from "@agentclientprotocol/sdk";
import { defined } from "core/defined.ts";
import { EVENT_PAYLOADS } from "core/dial/event.ts";
import {
  lineOf,
  linesOf,
  type QuestionField,
  type QuestionForm,
  type QuestionValues,
  summaryOf,
} from "core/questions/form.ts";
import { checkValues } from "core/questions/values.ts";
import { ok, type Result } from "core/result.ts";
import { isRecord } from "core/text/json_object.ts";

/** A question that waits, as the dial unit reports it. */
export interface AskedQuestion extends QuestionForm {
  readonly id: string;
}

/** The answer of a person. */
export interface PersonAnswer {
  readonly action: "answered" | "declined";
  readonly values?: QuestionValues;
}

/** The elicitations that the editor declared. */
export interface FormAbilities {
  readonly hasForms: boolean;
  readonly hasUrls: boolean;
}

/** Formats of texts that ACP knows. */
const FORMATS: readonly string[] = ["email", "uri", "date", "date-time"] satisfies StringFormat[];

/** Reads the payload of `question_asked`; undefined when it is malformed. */
export function readQuestion(
  payload: Readonly<Record<string, unknown>>,
): AskedQuestion | undefined {
  const asked = EVENT_PAYLOADS.question_asked.safeParse(payload);
  if (!asked.success) return undefined;
  const { question_id: id, mcp, message, url, fields } = asked.data;
  return { id, mcp, message, fields, ...defined({ url }) };
}

/** Returns the request; undefined when the editor cannot show it. */
export function elicitationRequest(
  question: AskedQuestion,
  to: FormAbilities & { readonly sessionId: string; readonly agent: string },
): CreateElicitationRequest | undefined {
  const { sessionId } = to;
  const message = askingText(question, to.agent);
  if (question.url !== undefined) {
    const { id: elicitationId, url } = question;
    return to.hasUrls ? { mode: "url", sessionId, elicitationId, url, message } : undefined;
  }
  if (!to.hasForms) return undefined;
  const properties = question.fields.flatMap((field) => propertiesOf(field, question));
  // A field that also accepts another answer is shown as two, so neither is required alone.
  const required = question.fields.filter((field) => field.required && !isOpen(field))
    .map(({ name }) => name);
  return {
    mode: "form",
    sessionId,
    message,
    requestedSchema: { type: "object", properties: Object.fromEntries(properties), required },
  };
}

/**
 * Returns the answer; undefined when the person gave none. An error has a line for each field that
 * does not fit.
 */
export function personAnswer(
  question: AskedQuestion,
  response: CreateElicitationResponse,
): Result<PersonAnswer | undefined, readonly string[]> {
  if (response.action === "decline") return ok({ action: "declined" });
  if (response.action !== "accept") return ok(undefined);
  const content = isRecord(response.content) ? response.content : {};
  const values = checkValues(question, mergeOthers(question, content));
  return values.ok ? ok({ action: "answered", values: values.value }) : values;
}

/** Tells how a question can be answered, when this editor does not show it. */
export function howToAnswer(question: AskedQuestion, command: (line: string) => string): string {
  const answer = command(`fleetctl questions answer ${question.id.slice(0, 8)}`);
  return `A question waits for a person: ${summaryOf(question)}\nAn operator answers it with ` +
    `\`${answer}\`.`;
}

/** A program could pass its question off as one of the editor's, so the message says who asks. */
function askingText({ mcp, message }: QuestionForm, agent: string): string {
  const asker = mcp === null ? "The program" : `MCP "${lineOf(mcp)}"`;
  return `${asker} of agent "${agent}" asks: ${linesOf(message)}`.trimEnd();
}

/** Whether an answer besides the options is accepted. */
function isOpen({ allows_other: allowsOther }: QuestionField): boolean {
  return allowsOther === true;
}

function propertiesOf(
  field: QuestionField,
  form: QuestionForm,
): readonly (readonly [string, ElicitationPropertySchema])[] {
  const own = [field.name, propertyOf(field)] as const;
  if (!isOpen(field)) return [own];
  const title = `${lineOf(field.title)}: another answer`;
  return [own, [otherName(field, form), { type: "string", title }]];
}

/** The name of the second field, in which the person writes an answer besides the options. */
function otherName({ name }: QuestionField, { fields }: QuestionForm): string {
  const taken = new Set(fields.map((field) => field.name));
  let other = `${name} (other)`;
  while (taken.has(other)) other += "+";
  return other;
}

function propertyOf(field: QuestionField): ElicitationPropertySchema {
  const { kind, min, max, format, options = [] } = field;
  const words = {
    title: lineOf(field.title),
    ...defined({ description: lineOf(field.description) || undefined, default: field.default }),
  };
  const choices = options.map(({ value, label, description }) => ({
    const: value,
    title: lineOf(label),
    ...defined({ description: lineOf(description) || undefined }),
  }));
  switch (kind) {
    case "text": {
      const known = format !== undefined && FORMATS.includes(format) ? format : undefined;
      const limits = defined({ minLength: min, maxLength: max, format: known });
      return { type: "string", ...words, ...limits };
    }
    case "number":
    case "integer":
      return { type: kind, ...words, ...defined({ minimum: min, maximum: max }) };
    case "boolean":
      return { type: "boolean", ...words };
    case "choice":
      return { type: "string", ...words, oneOf: choices };
    case "choices": {
      const limits = isOpen(field) ? {} : defined({ minItems: min, maxItems: max });
      return { type: "array", ...words, items: { anyOf: choices }, ...limits };
    }
  }
}

/** Puts an answer besides the options where the program expects it. */
function mergeOthers(
  form: QuestionForm,
  content: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const merged: Record<string, unknown> = { ...content };
  for (const field of form.fields.filter(isOpen)) {
    const name = otherName(field, form);
    const other = merged[name];
    delete merged[name];
    if (typeof other !== "string" || other.trim() === "") continue;
    const chosen = merged[field.name];
    merged[field.name] = field.kind === "choices"
      ? [...(Array.isArray(chosen) ? chosen : []), other]
      : other;
  }
  return merged;
}
