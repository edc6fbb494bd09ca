/**
 * Signed root execution: the grant that the daemon passes to the one program that it may run as
 * root, and the check that this program makes first. A grant binds the digest of the request, the
 * caller, an expiry and a nonce, under an HMAC key that only root can read. No I/O, no clock:
 * callers pass `now` and randomness. The key is `FLEETCTL_HOST_OP_GRANT_SECRET`.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Caller } from "core/verbs/caller.ts";
import { requestText, type VerbRequest } from "core/verbs/daemon_frames.ts";

/** Lifetime of a grant. Short, because the daemon creates it and starts the program at once. */
export const GRANT_SECONDS = 30;
/** Shortest accepted key: HMAC-SHA256 with 256 bits. */
export const GRANT_KEY_BYTES_MIN = 32;
const NONCE_BYTES = 16;

/** The signed permission to run one request as root. */
export interface Grant {
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  readonly nonce: string;
  readonly mac: string;
}

/** The values that a grant binds together. */
export interface GrantSubject {
  readonly request: VerbRequest;
  readonly caller: Caller;
}

/** Signs a grant for this subject. */
export async function signGrant(
  key: string,
  subject: GrantSubject,
  moment: { readonly now: number; readonly nonce: Uint8Array<ArrayBuffer> },
): Promise<Grant> {
  const expiresAt = moment.now + GRANT_SECONDS * 1000;
  const nonce = hex(moment.nonce.slice(0, NONCE_BYTES));
  const data = await signedBytes(subject, expiresAt, nonce);
  const mac = await crypto.subtle.sign("HMAC", await importKey(key, "sign"), data);
  return { expiresAt, nonce, mac: hex(new Uint8Array(mac)) };
}

/**
 * Checks the signature (in constant time), then the expiry. The caller must check that the nonce is
 * new.
 */
export async function checkGrant(
  key: string,
  subject: GrantSubject,
  grant: Grant,
  now: number,
): Promise<Result<void>> {
  const data = await signedBytes(subject, grant.expiresAt, grant.nonce);
  const mac = unhex(grant.mac);
  const isGenuine = mac !== undefined &&
    await crypto.subtle.verify("HMAC", await importKey(key, "verify"), mac, data);
  if (!isGenuine) return err(badGrant("its signature does not match"));
  const isTimely = now <= grant.expiresAt && grant.expiresAt <= now + GRANT_SECONDS * 1000;
  return isTimely ? ok(undefined) : err(badGrant("it has expired or is not valid yet"));
}

/** Returns the refusal of an unusable grant; it reveals nothing about keys. */
export function badGrant(found: string) {
  return refusal("grant-invalid", `Cannot run a verb as root: the grant is unusable, ${found}`, {
    kind: "denied",
    hints: ["systemctl restart fleetctl-daemon.service"],
  });
}

async function signedBytes(subject: GrantSubject, expiresAt: number, nonce: string) {
  const digest = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode(requestText(subject.request)),
  );
  const { kind, uid } = subject.caller;
  const agent = "agent" in subject.caller ? subject.caller.agent : "";
  // JSON of an array of scalars is injective, so no two subjects have the same signed text.
  return new TextEncoder().encode(JSON.stringify([
    "fleetctl.grant.1",
    hex(new Uint8Array(digest)),
    kind,
    uid,
    agent,
    expiresAt,
    nonce,
  ]));
}

function importKey(key: string, use: "sign" | "verify"): Promise<CryptoKey> {
  return crypto.subtle.importKey(
    "raw",
    new TextEncoder().encode(key),
    { name: "HMAC", hash: "SHA-256" },
    false,
    [use],
  );
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function unhex(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^([0-9a-f]{2})+$/.test(text)) return undefined;
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
