/**
 * The Ed25519 proof of a dial key: signed on the agent's host, verified at the gateway. Pure apart
 * from WebCrypto. The signed text binds the gateway's nonce to the agent, its owner, its host and
 * the dialled gateway address. So a proof cannot be reused elsewhere.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";

/** A dial key pair, loaded for signing. */
export interface DialKey {
  /** Raw 32 bytes, base64url. */
  readonly publicKey: string;
  readonly privateKey: CryptoKey;
}

/** Bytes of a raw Ed25519 public key. */
const PUBLIC_KEY_LENGTH = 32;
/** Bytes of an Ed25519 signature. */
const SIGNATURE_LENGTH = 64;

/** Encodes bytes as base64url without padding. */
export function toBase64Url(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}

/** Decodes base64url without padding; returns undefined if the text is invalid. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) return undefined;
  try {
    return Uint8Array.fromBase64(text, { alphabet: "base64url" });
  } catch {
    return undefined;
  }
}

/** Generates a key pair, and the text of the file that stores it (mode 0600). */
export async function generateDialKey(): Promise<{ key: DialKey; stored: string }> {
  for (;;) {
    const made = await generateAny();
    // As an argument of `agents key enroll`, such a key would look like an option.
    if (!made.key.publicKey.startsWith("-")) return made;
  }
}

async function generateAny(): Promise<{ key: DialKey; stored: string }> {
  const pair = await crypto.subtle.generateKey("Ed25519", true, [
    "sign",
    "verify",
  ]) as CryptoKeyPair;
  const publicKey = toBase64Url(
    new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey)),
  );
  const secret = new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey));
  const stored = JSON.stringify({ kind: "ed25519", public: publicKey, pkcs8: toBase64Url(secret) });
  return { key: { publicKey, privateKey: pair.privateKey }, stored: `${stored}\n` };
}

/** Parses the text that `generateDialKey` returned as `stored`. */
export async function parseDialKey(stored: string): Promise<Result<DialKey>> {
  const broken = err(
    refusal(
      "dial-key-unreadable",
      "Cannot use the dial key: its file is damaged, must be unchanged",
    ),
  );
  try {
    const value = JSON.parse(stored) as { public?: unknown; pkcs8?: unknown };
    if (typeof value.public !== "string" || typeof value.pkcs8 !== "string") return broken;
    const secret = fromBase64Url(value.pkcs8);
    if (secret === undefined || !isPublicKey(value.public)) return broken;
    const privateKey = await crypto.subtle.importKey("pkcs8", secret, "Ed25519", false, ["sign"]);
    return ok({ publicKey: value.public, privateKey });
  } catch {
    return broken;
  }
}

/** Tells whether a text has the form of a raw public key. */
export function isPublicKey(text: string): boolean {
  return fromBase64Url(text)?.length === PUBLIC_KEY_LENGTH;
}

/** Signs a proof text; returns the signature in base64url. */
export async function signProof(key: DialKey, text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  return toBase64Url(new Uint8Array(await crypto.subtle.sign("Ed25519", key.privateKey, bytes)));
}

/** Verifies a proof; returns false unless it is a signature of exactly this text by this key. */
export async function verifyProof(
  publicKey: string,
  text: string,
  proof: string,
): Promise<boolean> {
  const raw = fromBase64Url(publicKey);
  const signature = fromBase64Url(proof);
  if (raw?.length !== PUBLIC_KEY_LENGTH || signature?.length !== SIGNATURE_LENGTH) return false;
  try {
    const key = await crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"]);
    return await crypto.subtle.verify("Ed25519", key, signature, new TextEncoder().encode(text));
  } catch {
    return false;
  }
}
