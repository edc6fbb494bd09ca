/**
 * Reads and checks a question that an MCP server asks a person during a call (elicitation: form and
 * URL mode of 2025-11-25, the same inside `input_required` of 2026-07-28). A server is not trusted:
 * the size of its question is bounded, and a URL is shown, never opened. No I/O.
 * https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
 *
 * @module
 */

import { err, ok, type Result } from "core/result.ts";
import { isRecord } from "core/text/json_object.ts";

/** One field of a form. */
export interface QuestionField {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  readonly type: "string" | "number" | "integer" | "boolean" | "choice" | "choices";
  /** For `choice` and `choices`: the value, and the label that a person reads. */
  readonly choices: readonly { readonly value: string; readonly label: string }[];
  readonly isRequired: boolean;
  readonly fallback: unknown;
  readonly min: number | undefined;
  readonly max: number | undefined;
}

/** A question of a server. */
export type McpQuestion =
  | { readonly mode: "form"; readonly message: string; readonly fields: readonly QuestionField[] }
  | { readonly mode: "url"; readonly message: string; readonly url: string };

/** The person's reply. */
export type McpReply =
  | { readonly action: "accept"; readonly content?: Readonly<Record<string, unknown>> }
  | { readonly action: "decline" }
  | { readonly action: "cancel" };

/** Limits of a question; a larger one is refused. */
const FIELDS_MAX = 32;
const CHOICES_MAX = 64;
const TEXT_LENGTH_MAX = 2_000;
const LOOPBACK = /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/;

type Json = Readonly<Record<string, unknown>>;

/** Reads the parameters of `elicitation/create`; an error is part of a sentence. */
export function readQuestion(params: unknown): Result<McpQuestion, string> {
  if (!isRecord(params)) return err("it has no parameters");
  const message = text(params["message"]);
  if (params["mode"] === "url") {
    const url = params["url"];
    if (typeof url !== "string" || url.length > TEXT_LENGTH_MAX || !URL.canParse(url)) {
      return err("its url is invalid");
    }
    const { protocol, hostname, href } = new URL(url);
    return protocol === "https:" || protocol === "http:" && LOOPBACK.test(hostname)
      ? ok({ mode: "url", message, url: href })
      : err("its url is neither https nor to this machine");
  }
  const schema = params["requestedSchema"];
  const properties = isRecord(schema) && isRecord(schema["properties"]) ? schema["properties"] : {};
  const names = Object.keys(properties);
  if (names.length > FIELDS_MAX) return err(`it has more than ${FIELDS_MAX} fields`);
  const required = isRecord(schema) && Array.isArray(schema["required"]) ? schema["required"] : [];
  const fields: QuestionField[] = [];
  for (const name of names) {
    const field = readField(name, properties[name], required.includes(name));
    if (field === undefined) {
      return err(`its field ${JSON.stringify(name.slice(0, 80))} has an unsupported type`);
    }
    fields.push(field);
  }
  return ok({ mode: "form", message, fields });
}

function readField(name: string, value: unknown, isRequired: boolean): QuestionField | undefined {
  if (!isRecord(value)) return undefined;
  const type = value["type"];
  const items = isRecord(value["items"]) ? value["items"] : undefined;
  const choices = type === "array" && items !== undefined ? choicesOf(items) : choicesOf(value);
  if (choices === undefined || choices.length > CHOICES_MAX) return undefined;
  const kind = type === "array" ? "choices" : choices.length > 0 ? "choice" : type;
  const isKnown = kind === "string" || kind === "number" || kind === "integer" ||
    kind === "boolean" || kind === "choice" || kind === "choices" && choices.length > 0;
  if (!isKnown) return undefined;
  return {
    name,
    label: text(value["title"]) || text(name),
    description: text(value["description"]),
    type: kind,
    choices,
    isRequired,
    fallback: value["default"],
    min: number(value["minimum"] ?? value["minLength"] ?? value["minItems"]),
    max: number(value["maximum"] ?? value["maxLength"] ?? value["maxItems"]),
  };
}

/** Reads both forms of choices: `enum` (with `enumNames`), and `oneOf` or `anyOf` with titles. */
function choicesOf(schema: Json): QuestionField["choices"] | undefined {
  const titled = schema["oneOf"] ?? schema["anyOf"];
  if (Array.isArray(titled)) {
    const choices = titled.filter(isRecord).flatMap((one) =>
      typeof one["const"] === "string"
        ? [{ value: one["const"], label: text(one["title"]) || text(one["const"]) }]
        : []
    );
    return choices.length === titled.length ? choices : undefined;
  }
  const values = schema["enum"];
  if (values === undefined) return [];
  if (!Array.isArray(values) || !values.every((one) => typeof one === "string")) return undefined;
  const names: readonly unknown[] = Array.isArray(schema["enumNames"]) ? schema["enumNames"] : [];
  return values.map((value, at) => ({ value, label: text(names[at]) || text(value) }));
}

/**
 * Parses what a person typed for a field. An empty text gives the default, or undefined if the
 * field is optional. An error states what the value must be.
 */
export function parseReply(field: QuestionField, typed: string): Result<unknown, string> {
  const { type, fallback, isRequired, choices } = field;
  if (typed === "") {
    if (fallback !== undefined) return ok(fallback);
    return isRequired ? err("must be given") : ok(undefined);
  }
  const chosen = (word: string) =>
    choices.find(({ value, label }) => value === word || label === word)?.value ??
      choices[/^\d+$/.test(word) ? Number(word) - 1 : -1]?.value;
  switch (type) {
    case "boolean":
      if (/^(y|yes|true)$/i.test(typed)) return ok(true);
      return /^(n|no|false)$/i.test(typed) ? ok(false) : err("must be yes or no");
    case "number":
    case "integer": {
      const value = Number(typed);
      const isFit = Number.isFinite(value) && (type === "number" || Number.isInteger(value));
      if (!isFit) return err(type === "integer" ? "must be a whole number" : "must be a number");
      return inRange(field, value) ? ok(value) : err(rangeText(field, ""));
    }
    case "choice": {
      const value = chosen(typed);
      return value === undefined ? err("must be one of the choices") : ok(value);
    }
    case "choices": {
      const values = typed.split(",").map((word) => chosen(word.trim()));
      if (values.includes(undefined)) return err("must be choices, with commas between");
      return inRange(field, values.length) ? ok(values) : err(rangeText(field, " choices"));
    }
    case "string":
      return inRange(field, typed.length) ? ok(typed) : err(rangeText(field, " characters"));
  }
}

function inRange({ min, max }: QuestionField, value: number): boolean {
  return (min === undefined || value >= min) && (max === undefined || value <= max);
}

function rangeText({ min, max }: QuestionField, unit: string): string {
  if (max === undefined) return `must be at least ${min}${unit}`;
  return min === undefined ? `must be at most ${max}${unit}` : `must be ${min} to ${max}${unit}`;
}

/** Returns safe text for a terminal: one line, bounded, without control characters. */
function text(value: unknown): string {
  return typeof value === "string"
    ? value.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ").trim().slice(0, TEXT_LENGTH_MAX)
    : "";
}

function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}
