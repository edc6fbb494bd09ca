/**
 * Signed values that clients keep and send back: purpose, expiry, principal and an optional id
 * under an HMAC-SHA256. No clock, no randomness: callers pass `now`.
 *
 * A value is `base64url(purpose|expiry|principal[|id]).base64url(mac)`, unpadded. Keys are derived
 * per purpose (HKDF-SHA256), so a value is valid for its own purpose only. The secret may be a ring
 * `kid:key,kid:key`: the first key signs, all of them verify. Why fleetctl has its own code:
 * ADR 0033.
 *
 * @module
 */

import { isEqualInConstantTime } from "core/crypto/constant_time.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { strictUtf8 } from "core/text/utf8.ts";

/** Shortest accepted key: 16 characters of a random text are at least 64 bits. */
const KEY_LENGTH_MIN = 16;
/** Keys in one ring: the current one, the previous one, and room for a slow roll-out. */
const RING_KEYS_MAX = 8;
/** Longest accepted value; a principal is at most an e-mail address. */
const VALUE_LENGTH_MAX = 2048;
/** Not allowed in purpose, principal and id: the separator and control characters. */
// deno-lint-ignore no-control-regex
const UNSAFE = /[|\u0000-\u001f\u007f]/;
const KID = /^[A-Za-z0-9_-]{1,32}$/;
const EXPIRY = /^[1-9][0-9]{0,11}$/;

/** One key of a ring. */
export interface RingKey {
  /** Empty when the secret is a single key without a name. */
  readonly kid: string;
  readonly key: string;
}

/** Keys in order: the first signs, all verify. Never empty. */
export type KeyRing = readonly [RingKey, ...RingKey[]];

/** The fields of a signed value. */
export interface SignedFields {
  readonly purpose: string;
  /** Seconds since the Unix epoch; the value is invalid from this second on. */
  readonly expiresAt: number;
  readonly principal: string;
  /** Fourth field: the session id. */
  readonly id?: string;
}

/** The fields of a verified value. */
export interface VerifiedFields extends SignedFields {
  /** An older key of the ring signed it; it becomes invalid when that key is removed. */
  readonly isOldKey: boolean;
}

/** Why a value was rejected. For logs; a peer gets the same text for all of them. */
export type SignedFault = "malformed" | "signature" | "purpose" | "expired" | "principal";

/** Signs and verifies the values of one purpose. */
export interface Signer {
  readonly purpose: string;
  /** Refuses a principal or id that the format cannot hold. */
  sign(fields: Omit<SignedFields, "purpose">): Promise<Result<string>>;
  /** Checks format, signature, purpose, expiry and principal, in this order. */
  verify(value: string, nowMs: number): Promise<Result<VerifiedFields, SignedFault>>;
}

/** Parses `key` or `kid:key,kid:key`; `setting` names the secret in the refusal. */
export function parseKeyRing(text: string, setting: string): Result<KeyRing> {
  const bad = (found: string) =>
    err(refusal("key-ring-invalid", `Cannot read ${setting}: ${found}`, { kind: "settings" }));
  const isRing = text.split(",").every((part) => KID.test(/^([^:]*):/.exec(part)?.[1] ?? ""));
  const keys = isRing
    ? text.split(",").map((part) => {
      const colon = part.indexOf(":");
      return { kid: part.slice(0, colon), key: part.slice(colon + 1) };
    })
    : [{ kid: "", key: text }];
  if (keys.length > RING_KEYS_MAX) {
    return bad(`it contains ${keys.length} keys, must be at most ${RING_KEYS_MAX}`);
  }
  for (const [index, { kid, key }] of keys.entries()) {
    // Named by position: the text before a colon may be part of a secret key.
    const which = keys.length === 1 ? "the key" : `key ${index + 1} of ${keys.length}`;
    if (key.length < KEY_LENGTH_MIN) {
      return bad(`${which} is shorter than ${KEY_LENGTH_MIN} characters`);
    }
    if (keys.findIndex((other) => other.kid === kid) !== index) {
      return bad(`${which} has the same name as another`);
    }
  }
  const [first, ...rest] = keys;
  return first === undefined ? bad("it contains no key") : ok([first, ...rest]);
}

/**
 * Derives the key of one purpose from one key of a ring (HKDF-SHA256). No salt: the input is
 * already random, and signer and verifier share nothing else.
 */
export async function deriveKeyBytes(
  key: RingKey,
  purpose: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const text = new TextEncoder();
  const base = await crypto.subtle.importKey("raw", text.encode(key.key), "HKDF", false, [
    "deriveBits",
  ]);
  const bits = await crypto.subtle.deriveBits(
    {
      name: "HKDF",
      hash: "SHA-256",
      salt: new Uint8Array(0),
      info: text.encode(`fleetctl/signed-value/1/${purpose}`),
    },
    base,
    256,
  );
  return new Uint8Array(bits);
}

/** Creates a signer for one purpose; keys are derived once and cached. */
export async function openSigner(ring: KeyRing, purpose: string): Promise<Signer> {
  const [first, ...rest] = await Promise.all(
    ring.map(async (key) =>
      await crypto.subtle.importKey(
        "raw",
        await deriveKeyBytes(key, purpose),
        { name: "HMAC", hash: "SHA-256" },
        false,
        ["sign", "verify"],
      )
    ),
  );
  if (first === undefined) throw new TypeError("a key ring contains at least one key");
  const keys = [first, ...rest];
  return {
    purpose,
    sign: async (fields) => {
      const payload = encodeFields({ purpose, ...fields });
      if (!payload.ok) return payload;
      const mac = await crypto.subtle.sign("HMAC", first, payload.value);
      return ok(`${toBase64Url(payload.value)}.${toBase64Url(new Uint8Array(mac))}`);
    },
    verify: async (value, nowMs) => {
      const parts = splitValue(value);
      if (parts === undefined) return err("malformed");
      // WebCrypto compares in constant time. Trying every key hides which one matched.
      const hits = await Promise.all(
        keys.map((key) => crypto.subtle.verify("HMAC", key, parts.mac, parts.payload)),
      );
      if (!hits.includes(true)) return err("signature");
      const fields = decodeFields(parts.payload);
      if (fields === undefined) return err("malformed");
      if (!isEqualInConstantTime(fields.purpose, purpose)) return err("purpose");
      if (fields.expiresAt * 1000 <= nowMs) return err("expired");
      if (fields.principal.trim() === "") return err("principal");
      return ok({ ...fields, isOldKey: hits[0] !== true });
    },
  };
}

/** Encodes bytes as unpadded base64url. */
export function toBase64Url(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Decodes unpadded base64url; undefined unless the encoding is canonical. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return undefined;
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  return toBase64Url(bytes) === text ? bytes : undefined;
}

function encodeFields(fields: SignedFields): Result<Uint8Array<ArrayBuffer>> {
  const bad = (what: string) =>
    err(refusal("value-unsignable", `Cannot sign a "${fields.purpose}" value: ${what}`));
  const unsafe = 'contains "|" or a control character';
  if (fields.principal.trim() === "") return bad("the principal is empty");
  if (UNSAFE.test(fields.principal)) return bad(`the principal ${unsafe}`);
  if (UNSAFE.test(fields.purpose)) return bad(`the purpose ${unsafe}`);
  if (fields.id !== undefined && UNSAFE.test(fields.id)) return bad(`the id ${unsafe}`);
  if (!EXPIRY.test(String(fields.expiresAt))) return bad("the expiry must be whole seconds");
  const parts = [fields.purpose, String(fields.expiresAt), fields.principal];
  const text = (fields.id === undefined ? parts : [...parts, fields.id]).join("|");
  const bytes = new TextEncoder().encode(text);
  // 4/3 for base64url, 44 for the dot and the MAC.
  if (bytes.length * 4 / 3 + 44 > VALUE_LENGTH_MAX) return bad("it is too long");
  return ok(bytes);
}

function splitValue(value: string) {
  if (value.length > VALUE_LENGTH_MAX) return undefined;
  const dot = value.indexOf(".");
  if (dot < 1) return undefined;
  const payload = fromBase64Url(value.slice(0, dot));
  const mac = fromBase64Url(value.slice(dot + 1));
  return payload === undefined || mac?.length !== 32 ? undefined : { payload, mac };
}

function decodeFields(payload: Uint8Array): SignedFields | undefined {
  let text: string;
  try {
    text = strictUtf8().decode(payload);
  } catch {
    return undefined;
  }
  const [purpose, expiry, principal, id, ...more] = text.split("|");
  if (purpose === undefined || expiry === undefined || principal === undefined) return undefined;
  if (more.length > 0 || !EXPIRY.test(expiry)) return undefined;
  const fields = { purpose, expiresAt: Number(expiry), principal };
  return id === undefined ? fields : { ...fields, id };
}
