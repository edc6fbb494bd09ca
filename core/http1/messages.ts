/**
 * Parses and serializes HTTP/1.1 messages for a client (RFC 9112). Strict: ambiguous answers are
 * refused (docs/http1.md). Bytes are Latin-1 strings. No I/O.
 *
 * @module
 */

import type { HeaderPairs } from "core/http1/header_list.ts";
import { err, ok, type Result } from "core/result.ts";

/** How the end of a body is determined (RFC 9112, 6.3). */
export type Framing =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" }
  | { readonly kind: "close" };

/** The head of an answer. */
export interface AnswerHead {
  readonly status: number;
  readonly headers: HeaderPairs;
  readonly framing: Framing;
  /** Whether the connection may carry another request afterwards. */
  readonly isKept: boolean;
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?$/;
/** A token: the name of a header, or a method (RFC 9110, 5.6.2). */
export const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** The length of a body. No leading zeros, which some parsers read as octal. */
export const LENGTH = /^(?:0|[1-9][0-9]{0,14})$/;
/** Headers that determine where a body ends. */
export const FRAMING_HEADERS: ReadonlySet<string> = new Set([
  "content-length",
  "transfer-encoding",
]);
/** Maximum number of headers of a message. */
export const HEADERS_MAX = 256;
/** Size of the cache of names, so that invented names cannot fill memory. */
const NAMES_KEPT = 1_000;
const NAME_LENGTH_KEPT = 64;
/** Hop-by-hop headers, which are not forwarded. */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
  "trailer",
]);

/** Parses a head, from the status line to the last header, without the empty line. */
export function parseAnswerHead(text: string, method: string): Result<AnswerHead, string> {
  const lines = text.split("\r\n");
  const [, minor, statusText] = STATUS_LINE.exec(lines[0] ?? "") ?? [];
  if (statusText === undefined) return err("its first line is not a status line");
  if (lines.length - 1 > HEADERS_MAX) return err("it has too many headers");
  const status = Number(statusText);
  const headers: (readonly [string, string])[] = [];
  let connection = "";
  let codings: string | undefined;
  let length: string | undefined;
  for (let index = 1; index < lines.length; index++) {
    const parsed = parseHeaderLine(lines[index] ?? "");
    if (parsed === undefined) return err("a header is malformed");
    const [lower, value] = parsed;
    if (lower === "content-length") {
      if (!LENGTH.test(value)) return err("its content-length is not a number");
      if (length !== undefined) return err("it has two content-length headers");
      length = value;
    } else if (lower === "transfer-encoding") {
      codings = codings === undefined ? value : `${codings}, ${value}`;
    } else if (lower === "connection") connection += `,${value}`;
    if (!OF_CONNECTION.has(lower)) headers.push(parsed);
  }
  const framing = framingOf({ status, method, codings, length });
  if (!framing.ok) return framing;
  const options = connection.toLowerCase().split(",").map(trimmed);
  const named = options.filter((one) => one !== "" && one !== "close" && one !== "keep-alive");
  return ok({
    status,
    headers: named.length === 0 ? headers : headers.filter(([name]) => !named.includes(name)),
    framing: framing.value,
    isKept: framing.value.kind !== "close" && minor === "1" && !options.includes("close") &&
      !isBodyLikely({ status, codings, length }),
  });
}

/** Serializes the head of a request, with the empty line. Throws on an invalid header. */
export function printRequestHead(
  request: {
    readonly method: string;
    readonly target: string;
    readonly headers: Iterable<readonly [string, string]>;
  },
  framing: { readonly host: string; readonly body: number | "chunked" | undefined },
): string {
  const { method, target } = request;
  if (!TOKEN.test(method)) throw new TypeError("the method is not a token");
  if (!/^\/[\x21-\x7e]*$/.test(target)) throw new TypeError("the target is not a path");
  let text = `${method} ${target} HTTP/1.1\r\nhost: ${framing.host}\r\n`;
  for (const [name, value] of request.headers) text += printHeader(name, value);
  if (framing.body === "chunked") text += "transfer-encoding: chunked\r\n";
  else if (framing.body !== undefined) text += `content-length: ${framing.body}\r\n`;
  return `${text}\r\n`;
}

/** Serializes a header with its line end. Throws if it is invalid. */
export function printHeader(name: string, value: string): string {
  if (lowered(name) === undefined || !VALUE.test(value)) {
    throw new TypeError(`the header ${JSON.stringify(name)} cannot be sent`);
  }
  return `${name}: ${value}\r\n`;
}

/** Parses one header line, its name in lowercase; undefined if it is malformed. */
export function parseHeaderLine(line: string): readonly [name: string, value: string] | undefined {
  const colon = line.indexOf(":");
  if (colon < 1) return undefined;
  const name = lowered(line.slice(0, colon));
  const value = trimmed(line.slice(colon + 1));
  if (name === undefined || !VALUE.test(value)) return undefined;
  // Readers differ on whether a tab is part of these values.
  return FRAMING_HEADERS.has(name) && line.includes("\t") ? undefined : [name, value];
}

/** Names in lowercase; cached, because the same ones repeat. */
const names = new Map<string, string>();

function lowered(name: string): string | undefined {
  const known = names.get(name);
  if (known !== undefined) return known;
  if (!TOKEN.test(name)) return undefined;
  const lower = name.toLowerCase();
  if (name.length > NAME_LENGTH_KEPT) return lower;
  if (names.size >= NAMES_KEPT) names.clear();
  names.set(name, lower);
  return lower;
}

function framingOf(head: {
  readonly status: number;
  readonly method: string;
  readonly codings: string | undefined;
  readonly length: string | undefined;
}): Result<Framing, string> {
  const { status, method, codings, length } = head;
  if (status === 101) return err("it switches protocols, which was not requested");
  if (codings !== undefined && length !== undefined) return err("it is framed in two ways");
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) {
    return ok({ kind: "none" });
  }
  if (codings !== undefined) {
    return codings.toLowerCase() === "chunked"
      ? ok({ kind: "chunked" })
      : err("its transfer coding is not chunked alone");
  }
  if (length === undefined) return ok({ kind: "close" });
  return ok(length === "0" ? { kind: "none" } : { kind: "length", bytes: Number(length) });
}

/**
 * Whether an answer that must have no body announces one. Some servers send it anyway, and it would
 * precede the next answer. A 304 announces the length of the cached body.
 */
function isBodyLikely(head: {
  readonly status: number;
  readonly codings: string | undefined;
  readonly length: string | undefined;
}): boolean {
  const { status, codings, length = "0" } = head;
  if (status >= 200 && status !== 204 && status !== 304) return false;
  return codings !== undefined || (status !== 304 && length !== "0");
}

/** Trims spaces and tabs only: other white space is part of a value, or a fault. */
export function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  const isBlank = (at: number) => text.charCodeAt(at) === 0x20 || text.charCodeAt(at) === 0x09;
  while (start < end && isBlank(start)) start++;
  while (end > start && isBlank(end - 1)) end--;
  return text.slice(start, end);
}
