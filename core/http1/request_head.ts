/**
 * The heads of HTTP/1.1 requests as a listener reads them (RFC 9112). Strict, because two readers stand in
 * a row here: what one of them could take for something else is refused, never mended. Bytes
 * are passed as Latin-1 texts. No I/O.
 *
 * @module
 */

import { HeaderList } from "core/header_list.ts";
import { HEADERS_MAX, parseHeaderLine, TOKEN, trimmed } from "core/http1.ts";
import { err, ok, type Result } from "core/result.ts";

/** How the end of a request's body is known (RFC 9112, 6.3). */
export type RequestFraming =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" };

/** The head of a request. */
export interface RequestHead {
  readonly method: string;
  /** As it was sent: a path, or a whole address. */
  readonly target: string;
  /** Minor version of HTTP/1. */
  readonly minor: 0 | 1;
  readonly headers: HeaderList;
  readonly framing: RequestFraming;
  /** Whether the sender takes another answer on this connection. */
  readonly isKept: boolean;
  /** The sender waits for a 100 before it sends the body. */
  readonly isWaiting: boolean;
  readonly isUpgrade: boolean;
}

/** Status of the answer to a head that is none. */
export type HeadFault = 400 | 417 | 431 | 501 | 505;

const REQUEST_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) ([\x21-\x7e]+) HTTP\/([0-9])\.([0-9])$/;
const LENGTH = /^[0-9]{1,15}$/;
/** A host with its port; more than that would move the path (RFC 3986, 3.2.2). */
const AUTHORITY = /^[A-Za-z0-9._~!$&'()*+;=%:[\]-]+$/;
/** A whole address as target, as clients of a proxy send it (RFC 9112, 3.2.2): its host, and the rest. */
export const ABSOLUTE_TARGET = /^https?:\/\/([^/?#@\s]+)(?=[/?#]|$)(.*)$/i;
const NO_BODY: RequestFraming = { kind: "none" };

/** Tells whether a byte can begin a head; what else comes first is another protocol. */
export function isHeadStart(byte: number): boolean {
  return byte === 0x0d || TOKEN.test(String.fromCharCode(byte));
}

/** Tells whether a text is a host, with a port or without; never a list of two. */
export function isAuthority(text: string): boolean {
  return AUTHORITY.test(text);
}

/** Parses a head, from the request line to the last header, without the empty line. */
export function parseRequestHead(text: string): Result<RequestHead, HeadFault> {
  const lines = text.split("\r\n");
  const [, method = "", target = "", major, minorText] = REQUEST_LINE.exec(lines[0] ?? "") ?? [];
  if (major === undefined) return err(400);
  if (major !== "1") return err(505);
  // A tunnel to somewhere else; nothing here is a proxy of that kind.
  if (method === "CONNECT") return err(501);
  if (lines.length - 1 > HEADERS_MAX) return err(431);
  const headers = new HeaderList();
  for (let index = 1; index < lines.length; index++) {
    const line = parseHeaderLine(lines[index] ?? "");
    if (line === undefined) return err(400);
    headers.append(line[0], line[1]);
  }
  const minor = minorText === "0" ? 0 : 1;
  const host = headers.get("host");
  if (host === null ? minor === 1 : !isAuthority(host)) return err(400);
  const framing = framingOf(headers, minor);
  if (framing === undefined) return err(400);
  const expect = headers.get("expect");
  const isWaiting = expect !== null && minor === 1;
  if (isWaiting && expect.toLowerCase() !== "100-continue") return err(417);
  const options = optionsOf(headers);
  // HTTP/1.0 knows none (RFC 9110, 7.8).
  const isUpgrade = minor === 1 && options.includes("upgrade") && headers.has("upgrade");
  // What comes behind an upgrade is no body, and nobody may take it for one.
  if (isUpgrade && framing.kind !== "none") return err(400);
  const isKept = minor === 1 && !options.includes("close");
  return ok({ method, target, minor, headers, framing, isKept, isWaiting, isUpgrade });
}

/** Undefined when there are two answers to where the body ends (RFC 9112, 6.1 and 6.3). */
function framingOf(headers: HeaderList, minor: 0 | 1): RequestFraming | undefined {
  const length = headers.get("content-length");
  const coding = headers.get("transfer-encoding");
  if (coding !== null) {
    const isOne = length === null && minor === 1 && coding.toLowerCase() === "chunked";
    return isOne ? { kind: "chunked" } : undefined;
  }
  if (length === null) return NO_BODY;
  if (!LENGTH.test(length)) return undefined;
  const bytes = Number(length);
  return bytes === 0 ? NO_BODY : { kind: "length", bytes };
}

function optionsOf(headers: HeaderList): readonly string[] {
  const connection = headers.get("connection");
  if (connection === null) return [];
  return connection.toLowerCase().split(",").map(trimmed);
}
