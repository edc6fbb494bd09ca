/**
 * The `Authorization: Basic` header (RFC 7617): strict parsing, and a cache of valid headers, so
 * that scripts do not pay for the hash on each request. Stores digests, never headers.
 *
 * @module
 */

import { LOGIN_LIMITS } from "core/limits/login.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Random } from "core/ports/random.ts";
import { strictUtf8 } from "core/text/utf8.ts";

/** A parsed header. */
export interface BasicCredentials {
  readonly name: string;
  readonly password: string;
}

const HEADER_LENGTH_MAX = 4_096;
// deno-lint-ignore no-control-regex
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Returns whether a header uses the Basic scheme. */
export function isBasicHeader(header: string | null): header is string {
  return header !== null && /^basic(?:\s|$)/i.test(header);
}

/** Parses a header; undefined unless it contains exactly one user and one password. */
export function parseBasicHeader(header: string): BasicCredentials | undefined {
  if (header.length > HEADER_LENGTH_MAX) return undefined;
  const [, encoded] = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header) ?? [];
  if (encoded === undefined) return undefined;
  try {
    const bytes = Uint8Array.fromBase64(encoded, { lastChunkHandling: "strict" });
    const text = strictUtf8().decode(bytes);
    const colon = text.indexOf(":");
    if (colon < 1 || CONTROL.test(text)) return undefined;
    return { name: text.slice(0, colon), password: text.slice(colon + 1) };
  } catch {
    return undefined;
  }
}

/** A cache of recently verified headers and their principals. */
export interface BasicHeaderCache {
  get(header: string): Promise<string | undefined>;
  put(header: string, principal: string): Promise<void>;
}

/** Creates an empty cache; its key is never stored. */
export function createBasicHeaderCache(ports: {
  readonly clock: Pick<Clock, "monotonic">;
  readonly random: Pick<Random, "bytes">;
}): BasicHeaderCache {
  const { basicKept, basicKeptSeconds } = LOGIN_LIMITS;
  const kept = new Map<string, { readonly principal: string; readonly until: number }>();
  const key = crypto.subtle.importKey(
    "raw",
    ports.random.bytes(32),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  const mark = async (header: string) => {
    const mac = await crypto.subtle.sign("HMAC", await key, new TextEncoder().encode(header));
    return new Uint8Array(mac).toBase64();
  };
  return {
    get: async (header) => {
      const found = kept.get(await mark(header));
      return found === undefined || found.until <= ports.clock.monotonic()
        ? undefined
        : found.principal;
    },
    put: async (header, principal) => {
      const [first] = kept.keys();
      if (kept.size >= basicKept && first !== undefined) kept.delete(first);
      const until = ports.clock.monotonic() + basicKeptSeconds * 1000;
      kept.set(await mark(header), { principal, until });
    },
  };
}
