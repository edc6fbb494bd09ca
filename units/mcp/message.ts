/**
 * Parses one line as a JSON-RPC message, and prints the proxy's own answers. Pure. Both protocol
 * revisions share this framing; batches belong to neither and are refused.
 *
 * @module
 */

import type { Refusal } from "core/errors.ts";
import { strictUtf8 } from "core/text/utf8.ts";
import { envelopeKeys } from "units/mcp/envelope.ts";
import { isRecord } from "core/text/json_object.ts";

/** Identifier of a request. */
export type MessageId = string | number;

/** A message, with the fields that the proxy needs. */
export type Message =
  | {
    readonly kind: "request";
    readonly id: MessageId;
    readonly method: string;
    readonly params: Readonly<Record<string, unknown>>;
  }
  | {
    readonly kind: "notification";
    readonly method: string;
    readonly params: Readonly<Record<string, unknown>>;
  }
  | { readonly kind: "response"; readonly id: MessageId; readonly value: Record<string, unknown> };

/** Why a line is not a message; the id is present if it could be read. */
export interface BadMessage {
  readonly kind: "bad";
  readonly code: number;
  readonly text: string;
  readonly id: MessageId | null;
}

/** JSON-RPC codes; -32000 and -32001 are the SDKs' codes for lost and slow connections. */
export const RPC_CODES = {
  parse: -32700,
  invalidRequest: -32600,
  internal: -32603,
  connectionClosed: -32000,
  timeout: -32001,
} as const;

/** Keys that determine what a message does; each may occur once, in exactly this spelling. */
const MESSAGE_KEYS = new Set(["jsonrpc", "id", "method", "params", "result", "error"]);
const PARAMS_KEYS = new Set(["name", "arguments", "_meta", "task"]);

const OPEN_OBJECT = 0x7b;
const decoder = strictUtf8();
const encoder = new TextEncoder();
/** Line breaks for some readers but not for JSON: NEL, LINE SEPARATOR and PARAGRAPH SEPARATOR. */
const NON_JSON_LINE_BREAKS = /[\r\u0085\u2028\u2029]/;

/** A parsed line, and the bytes to forward for it. */
export interface ParsedLine {
  readonly message: Message | BadMessage;
  /** The text that was parsed; empty for a bad line. */
  readonly text: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Parses a line (with its newline); undefined for an empty one. */
export function parseLine(bytes: Uint8Array<ArrayBuffer>): ParsedLine | undefined {
  const bad = (code: number, text: string, id: MessageId | null = null): ParsedLine => ({
    message: { kind: "bad", code, text, id },
    text: "",
    bytes,
  });
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    return bad(RPC_CODES.parse, "the line is not valid UTF-8");
  }
  if (text.charCodeAt(0) !== OPEN_OBJECT && text.trim() === "") return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return bad(RPC_CODES.parse, "the line is not valid JSON");
  }
  if (Array.isArray(value)) return bad(RPC_CODES.invalidRequest, "a batch is not supported");
  if (!isRecord(value)) return bad(RPC_CODES.invalidRequest, "the line is not a JSON object");
  return { message: readMessage(value), text, bytes: oneLine(text, bytes) };
}

function readMessage(value: Record<string, unknown>): Message | BadMessage {
  const { id, method } = value;
  const known = isId(id) ? id : null;
  const bad = (text: string): BadMessage => ({
    kind: "bad",
    code: RPC_CODES.invalidRequest,
    text,
    id: known,
  });
  if (typeof method === "string") {
    const params = value["params"] ?? {};
    if (!isRecord(params)) return bad("params is not an object");
    if (!("id" in value)) return { kind: "notification", method, params };
    return known === null
      ? bad("the id is neither a string nor a number")
      : { kind: "request", id: known, method, params };
  }
  if ("method" in value) return bad("the method is not a string");
  if (known !== null && ("result" in value || "error" in value)) {
    return { kind: "response", id: known, value };
  }
  return bad("it is neither a request, a notification nor a response");
}

/**
 * Returns what is ambiguous about a client's message: a deciding key twice or in another spelling.
 * A server that reads the other key would do something that the gate has not checked.
 */
export function findAmbiguity(text: string): string | undefined {
  const keys = envelopeKeys(text);
  if (keys === undefined) return "it has more keys, or longer ones, than any method accepts";
  let seen = "";
  for (const { depth, name } of keys) {
    const known = depth === 1 ? MESSAGE_KEYS : PARAMS_KEYS;
    const folded = known.has(name) ? name : name.normalize("NFKC").trim().toLowerCase();
    if (!known.has(folded)) continue;
    const where = depth === 1 ? `"${folded}"` : `"params.${folded}"`;
    if (folded !== name) return `${where} has a non-standard spelling`;
    if (seen.includes(where)) return `${where} occurs twice`;
    seen += where;
  }
  return undefined;
}

/**
 * Some servers break lines where JSON does not. A message must be one line to them too: otherwise
 * part of an argument could pass for a separate message.
 */
function oneLine(text: string, bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (!NON_JSON_LINE_BREAKS.test(text)) return bytes;
  // A raw CR can occur only between tokens, the others only inside strings.
  const safe = text.replace(/\r/g, " ").replace(
    /[\u0085\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return encoder.encode(safe);
}

/** Prints a message as one line. */
export function printMessage(value: unknown): Uint8Array<ArrayBuffer> {
  return encoder.encode(`${JSON.stringify(value)}\n`);
}

/** Prints a request from its parsed form. */
export function printRequest(request: Extract<Message, { kind: "request" }>) {
  const { id, method, params } = request;
  return printMessage({ jsonrpc: "2.0", id, method, params });
}

/** Prints a JSON-RPC error. */
export function printError(
  id: MessageId | null,
  code: number,
  reason: Pick<Refusal, "code" | "message" | "hints">,
): Uint8Array<ArrayBuffer> {
  const data = { code: reason.code, hints: reason.hints };
  return printMessage({ jsonrpc: "2.0", id, error: { code, message: reason.message, data } });
}

/**
 * Prints the refusal of a tool call as a tool result, because only a result reaches the model.
 * `_meta.fleetctl.denied` tells fleetctl's runtime that the call was refused and did not fail.
 */
export function printDenied(
  request: { readonly id: MessageId; readonly params: Readonly<Record<string, unknown>> },
  reason: Refusal,
): Uint8Array<ArrayBuffer> {
  return printMessage({
    jsonrpc: "2.0",
    id: request.id,
    result: {
      ...(isStateless(request.params) ? { resultType: "complete" } : {}),
      content: [{ type: "text", text: reason.message }],
      isError: true,
      _meta: { fleetctl: { denied: true, code: reason.code } },
    },
  });
}

/** Whether a request uses the stateless revision (2026-07-28), which each request names. */
function isStateless(params: Readonly<Record<string, unknown>>): boolean {
  const meta = params["_meta"];
  return isRecord(meta) && "io.modelcontextprotocol/protocolVersion" in meta;
}

/** Whether a value can be the id of a request. */
export function isId(value: unknown): value is MessageId {
  return typeof value === "string" || typeof value === "number";
}
