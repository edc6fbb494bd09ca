/**
 * Reads a question of an MCP server (elicitation), directly or passed on by a program. It supports
 * the form and URL modes of revision 2025-11-25, which revision 2026-07-28 sends inside
 * `input_required`. A server is not trusted: the size of its question is bounded, and a URL is
 * shown, never opened. No I/O.
 * https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
 *
 * @module
 */

import { defined } from "core/defined.ts";
import {
  boundedForm,
  lineOf,
  linesOf,
  type QuestionField,
  type QuestionForm,
  type QuestionOption,
} from "core/questions/form.ts";
import { fieldFault } from "core/questions/values.ts";
import { err, ok, type Result } from "core/result.ts";
import { isRecord } from "core/text/json_object.ts";

/** The parameters of an elicitation. */
export interface Elicitation {
  /** Name of the MCP; null when the program does not name it. */
  readonly mcp: string | null;
  readonly message: unknown;
  readonly mode: unknown;
  readonly url: unknown;
  readonly schema: unknown;
}

/** The person must read the whole address before opening it. */
const URL_LENGTH_MAX = 2_000;
const LOOPBACK = /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/;

type Json = Readonly<Record<string, unknown>>;

/**
 * Reads a question; an error is part of a sentence. `isAtTerminal` is true when the person sits at
 * a terminal of this machine. Only then an address on this machine is accepted.
 */
export function readElicitation(
  { mcp, message: given, mode, url, schema }: Elicitation,
  { isAtTerminal = false }: { readonly isAtTerminal?: boolean } = {},
): Result<QuestionForm, string> {
  const message = linesOf(given);
  if (mode === "url") {
    const address = readAddress(url, isAtTerminal);
    return address.ok ? boundedForm({ mcp, message, url: address.value, fields: [] }) : address;
  }
  if (mode !== undefined && mode !== null && mode !== "form") return err("its mode is unknown");
  if (schema !== undefined && schema !== null && !isRecord(schema)) {
    return err("its schema is not an object");
  }
  const { properties = {}, required = [] } = schema ?? {};
  if (!isRecord(properties)) return err("its schema has no properties");
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  const fields: QuestionField[] = [];
  for (const [name, property] of Object.entries(properties)) {
    const field = readField(name, property, needed.includes(name));
    if (field === undefined) {
      return err(`its field ${JSON.stringify(name.slice(0, 80))} has an unsupported type`);
    }
    fields.push(field);
  }
  return boundedForm({ mcp, message, fields });
}

function readAddress(given: unknown, isAtTerminal: boolean): Result<string, string> {
  if (typeof given !== "string" || given.length > URL_LENGTH_MAX || !URL.canParse(given)) {
    return err("its url is invalid");
  }
  const { protocol, hostname, href, username, password } = new URL(given);
  // The part before the @ is often mistaken for the host.
  if (username !== "" || password !== "") return err("its url has a user name");
  const isLocal = isAtTerminal && protocol === "http:" && LOOPBACK.test(hostname);
  if (protocol === "https:" || isLocal) return ok(href);
  return err(
    isAtTerminal ? "its url is neither https nor to this machine" : "its url is not https",
  );
}

function readField(name: string, value: unknown, required: boolean): QuestionField | undefined {
  if (!isRecord(value)) return undefined;
  const { type, items } = value;
  const options = type === "array" ? (isRecord(items) ? optionsOf(items) : []) : optionsOf(value);
  if (options === undefined) return undefined;
  const kind = kindOf(type, options.length > 0);
  if (kind === undefined) return undefined;
  const description = lineOf(value.description);
  const field: QuestionField = {
    name,
    title: lineOf(value.title) || lineOf(name),
    kind,
    required,
    ...(description === "" ? {} : { description }),
    ...(options.length === 0 ? {} : { options }),
    ...defined({
      min: number(value.minimum ?? value.minLength ?? value.minItems),
      max: number(value.maximum ?? value.maxLength ?? value.maxItems),
      format: typeof value.format === "string" ? lineOf(value.format) : undefined,
    }),
  };
  const fallback = value.default;
  return fieldFault(field, fallback) === undefined
    ? { ...field, default: fallback as NonNullable<QuestionField["default"]> }
    : field;
}

function kindOf(type: unknown, hasOptions: boolean): QuestionField["kind"] | undefined {
  if (type === "array") return hasOptions ? "choices" : undefined;
  if (hasOptions) return "choice";
  if (type === "string") return "text";
  return type === "number" || type === "integer" || type === "boolean" ? type : undefined;
}

/** Reads both forms of options: `enum` (with `enumNames`), and `oneOf` or `anyOf` with titles. */
function optionsOf(schema: Json): readonly QuestionOption[] | undefined {
  const titled = schema.oneOf ?? schema.anyOf;
  if (Array.isArray(titled)) {
    const options = titled.filter(isRecord).flatMap((one) => optionOf(one) ?? []);
    return options.length === titled.length ? options : undefined;
  }
  const values = schema.enum;
  if (values === undefined) return [];
  if (!Array.isArray(values) || !values.every((one) => typeof one === "string")) return undefined;
  const names: readonly unknown[] = Array.isArray(schema.enumNames) ? schema.enumNames : [];
  return values.map((value, at) => ({ value, label: lineOf(names[at]) || lineOf(value) }));
}

function optionOf({ const: value, title, description }: Json): QuestionOption | undefined {
  if (typeof value !== "string") return undefined;
  const words = lineOf(description);
  return {
    value,
    label: lineOf(title) || lineOf(value),
    ...(words === "" ? {} : { description: words }),
  };
}

function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}
