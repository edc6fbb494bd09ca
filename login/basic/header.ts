/**
 * The `Authorization: Basic` header (RFC 7617): exact parsing, and the memory of headers that were
 * right, so that a script does not pay for the hash at each request. Keeps digests, never headers.
 *
 * @module
 */

import { LOGIN_LIMITS } from "core/limits.ts";
import type { Clock, Random } from "core/ports.ts";

/** What a header says. */
export interface BasicCredentials {
  readonly name: string;
  readonly password: string;
}

const HEADER_LENGTH_MAX = 4_096;
// deno-lint-ignore no-control-regex
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Tells whether a header asks for the Basic scheme. */
export function isBasicHeader(header: string | null): header is string {
  return header !== null && /^basic(?:\s|$)/i.test(header);
}

/** Parses a header; undefined for anything that is not exactly one user and one password. */
export function parseBasicHeader(header: string): BasicCredentials | undefined {
  if (header.length > HEADER_LENGTH_MAX) return undefined;
  const [, encoded] = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header) ?? [];
  if (encoded === undefined) return undefined;
  try {
    const bytes = Uint8Array.fromBase64(encoded, { lastChunkHandling: "strict" });
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    const colon = text.indexOf(":");
    if (colon < 1 || CONTROL.test(text)) return undefined;
    return { name: text.slice(0, colon), password: text.slice(colon + 1) };
  } catch {
    return undefined;
  }
}

/** Headers that were right a short while ago. */
export interface BasicMemory {
  recall(header: string): Promise<string | undefined>;
  keep(header: string, principal: string): Promise<void>;
}

/** Creates an empty memory; its key lives as long as the process. */
export function createBasicMemory(ports: {
  readonly clock: Pick<Clock, "monotonic">;
  readonly random: Pick<Random, "bytes">;
}): BasicMemory {
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
    recall: async (header) => {
      const found = kept.get(await mark(header));
      return found === undefined || found.until <= ports.clock.monotonic()
        ? undefined
        : found.principal;
    },
    keep: async (header, principal) => {
      const [first] = kept.keys();
      if (kept.size >= basicKept && first !== undefined) kept.delete(first);
      const until = ports.clock.monotonic() + basicKeptSeconds * 1000;
      kept.set(await mark(header), { principal, until });
    },
  };
}
