/**
 * Encryption of the secret store: age (age-encryption.org/v1), several recipients, ASCII armor. So
 * `age -d -i /etc/fleetctl/host.key secrets.age` reads the store without fleetctl. No I/O. Only
 * this file imports `age-encryption`.
 *
 * New hosts get X25519 identities, which every packaged `age` supports. Hybrid post-quantum
 * recipients are accepted too. age does not authenticate the author of a file: anyone who may push
 * to the ledger can replace the store. Therefore only root may push (design: processes and trust).
 *
 * @module
 */

import {
  armor,
  Decrypter,
  Encrypter,
  generateX25519Identity,
  identityToRecipient,
} from "age-encryption";
import { errorText } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";

/** Why a sealed text could not be opened. */
export type EnvelopeFault =
  | { readonly reason: "foreign" }
  | { readonly reason: "corrupt"; readonly detail: string };

/** Largest armored store, in characters. */
const SEALED_LENGTH_MAX = 64 * 1024 * 1024;
/** Padding to multiples of this many bytes, so that the shared history hides lengths of values. */
const PADDING_BYTES = 4096;
const FOREIGN = /no identity matched/;

/** Generates a host's identity: `AGE-SECRET-KEY-1…`. */
export async function createIdentity(): Promise<string> {
  return await generateX25519Identity();
}

/** Returns the public key of an identity; undefined when the text is not an identity. */
export async function recipientOf(identity: string): Promise<string | undefined> {
  try {
    return await identityToRecipient(identity);
  } catch {
    return undefined;
  }
}

/** Returns whether a text is a recipient that a store can be encrypted to. */
export function isRecipient(text: string): boolean {
  try {
    new Encrypter().addRecipient(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Encrypts a text to all recipients and pads it with newlines. Callers have checked the recipients.
 */
export async function seal(text: string, recipients: readonly string[]): Promise<string> {
  const encrypter = new Encrypter();
  for (const recipient of recipients) encrypter.addRecipient(recipient);
  const bytes = new TextEncoder().encode(text);
  const padded = new Uint8Array(Math.ceil((bytes.length + 1) / PADDING_BYTES) * PADDING_BYTES)
    .fill("\n".charCodeAt(0));
  padded.set(bytes);
  return armor.encode(await encrypter.encrypt(padded));
}

/** Decrypts a sealed text with any matching identity; the parser ignores the padding. */
export async function unseal(
  sealed: string,
  identities: readonly string[],
): Promise<Result<string, EnvelopeFault>> {
  if (sealed.length > SEALED_LENGTH_MAX) {
    return err({ reason: "corrupt", detail: "it is too large" });
  }
  const decrypter = new Decrypter();
  for (const identity of identities) decrypter.addIdentity(identity);
  try {
    return ok(await decrypter.decrypt(armor.decode(sealed), "text"));
  } catch (thrown) {
    // The package throws plain errors; its messages never contain keys or plain text.
    const detail = errorText(thrown);
    return err(FOREIGN.test(detail) ? { reason: "foreign" } : { reason: "corrupt", detail });
  }
}
