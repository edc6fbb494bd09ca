/**
 * Parses the heads of HTTP/1.1 requests for a listener (RFC 9112). Strict, because two servers
 * parse each request: ambiguous heads are refused, never repaired (docs/http1.md). Bytes are
 * Latin-1 strings. No I/O.
 *
 * @module
 */

import { HeaderList } from "core/http1/header_list.ts";
import { HEADERS_MAX, LENGTH, parseHeaderLine, TOKEN, trimmed } from "core/http1/messages.ts";
import { err, ok, type Result } from "core/result.ts";

/** How the end of a request's body is determined (RFC 9112, 6.3). */
export type RequestFraming =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" };

/** The head of a request. */
export interface RequestHead {
  readonly method: string;
  /** As sent: a path, or an absolute URL. */
  readonly target: string;
  /** Host of an absolute URL; it overrides the `Host` header (RFC 9112, 3.2.2). */
  readonly authority: string | undefined;
  /** Path and query of the target. */
  readonly path: string;
  /** Minor version of HTTP/1. */
  readonly minor: 0 | 1;
  readonly headers: HeaderList;
  readonly framing: RequestFraming;
  /** Whether the connection may carry another request. */
  readonly isKept: boolean;
  /** The sender waits for a 100 before it sends the body. */
  readonly isWaiting: boolean;
  readonly isUpgrade: boolean;
}

/** Status of the answer to an invalid head. */
export type HeadFault = 400 | 417 | 431 | 501 | 505;

const REQUEST_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) ([\x21-\x7e]+) HTTP\/([0-9])\.([0-9])$/;
/** A host with its port. Other characters could change where the path begins (RFC 3986, 3.2.2). */
const AUTHORITY = /^[A-Za-z0-9._~!$&'()*+;=%:[\]-]+$/;
/** An absolute URL as target, as clients of a proxy send it: its host, and the rest. */
const ABSOLUTE_TARGET = /^https?:\/\/([^/?]+)(.*)$/i;
const NO_BODY: RequestFraming = { kind: "none" };

/** Returns whether a byte can start a head; others mean another protocol. */
export function isHeadStart(byte: number): boolean {
  return byte === 0x0d || TOKEN.test(String.fromCharCode(byte));
}

/** Parses a path or an absolute URL (RFC 9112, 3.2.1 and 3.2.2); undefined for other targets. */
function parseTarget(target: string): Pick<RequestHead, "authority" | "path"> | undefined {
  // Refuse a fragment: parsers differ on where the path then ends.
  if (target.includes("#")) return undefined;
  if (target.startsWith("/")) return { authority: undefined, path: target };
  const [, authority = "", rest = ""] = ABSOLUTE_TARGET.exec(target) ?? [];
  if (!AUTHORITY.test(authority)) return undefined;
  return { authority, path: rest.startsWith("/") ? rest : `/${rest}` };
}

/** Parses a head, from the request line to the last header, without the empty line. */
export function parseRequestHead(text: string): Result<RequestHead, HeadFault> {
  const lines = text.split("\r\n");
  const [, method = "", target = "", major, minorText] = REQUEST_LINE.exec(lines[0] ?? "") ?? [];
  if (major === undefined) return err(400);
  if (major !== "1") return err(505);
  // No forward proxy here.
  if (method === "CONNECT") return err(501);
  const aim = parseTarget(target);
  if (aim === undefined) return err(400);
  if (lines.length - 1 > HEADERS_MAX) return err(431);
  const headers = new HeaderList();
  for (let index = 1; index < lines.length; index++) {
    const line = parseHeaderLine(lines[index] ?? "");
    if (line === undefined) return err(400);
    headers.append(line[0], line[1]);
  }
  const minor = minorText === "0" ? 0 : 1;
  const host = headers.get("host");
  if (host === null ? minor === 1 : !AUTHORITY.test(host)) return err(400);
  const framing = framingOf(headers, minor);
  if (framing === undefined) return err(400);
  const expect = headers.get("expect");
  const isWaiting = expect !== null && minor === 1;
  if (isWaiting && expect.toLowerCase() !== "100-continue") return err(417);
  const options = optionsOf(headers);
  // HTTP/1.0 has no upgrades (RFC 9110, 7.8).
  const isUpgrade = minor === 1 && options.includes("upgrade") &&
    /[^ ,]/.test(headers.get("upgrade") ?? "");
  // Bytes after an upgrade are not a body, and must not be read as one.
  if (isUpgrade && framing.kind !== "none") return err(400);
  const isKept = minor === 1 && !options.includes("close");
  return ok({ method, target, ...aim, minor, headers, framing, isKept, isWaiting, isUpgrade });
}

/** Undefined if the end of the body is ambiguous (RFC 9112, 6.1 and 6.3). */
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
