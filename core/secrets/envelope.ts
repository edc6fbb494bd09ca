/**
 * Encryption of the secret store: age (age-encryption.org/v1), several recipients, ASCII armor, so
 * that `age -d -i /etc/fleetctl/host.key secrets.age` reads the store without fleetctl. No I/O.
 * The only file that imports `age-encryption`.
 *
 * New hosts get X25519 identities: every packaged `age` reads them. Recipients of the hybrid
 * post-quantum kind are accepted too. age says nothing about who wrote a file: whoever may push to
 * the ledger may replace the store, which is why only root may (design: processes and trust).
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

/** Largest armored store. */
const SEALED_LENGTH_MAX = 64 * 1024 * 1024;
/** Lengths are hidden in steps of this many bytes, because the history of the store is shared. */
const PADDING_BYTES = 4096;
const FOREIGN = /no identity matched/;

/** Generates a host's identity: `AGE-SECRET-KEY-1…`. */
export async function createIdentity(): Promise<string> {
  return await generateX25519Identity();
}

/** Returns the public half of an identity, or undefined when the text is not one. */
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

/** Encrypts a text to all recipients, padded with newlines. The recipients were checked before. */
export async function seal(text: string, recipients: readonly string[]): Promise<string> {
  const encrypter = new Encrypter();
  for (const recipient of recipients) encrypter.addRecipient(recipient);
  const bytes = new TextEncoder().encode(text);
  const padded = new Uint8Array(Math.ceil((bytes.length + 1) / PADDING_BYTES) * PADDING_BYTES)
    .fill("\n".charCodeAt(0));
  padded.set(bytes);
  return armor.encode(await encrypter.encrypt(padded));
}

/** Decrypts a sealed text with whichever identity fits; the padding is left to the parser. */
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
    // The package throws plain errors; its texts never hold keys or plain text.
    const detail = errorText(thrown);
    return err(FOREIGN.test(detail) ? { reason: "foreign" } : { reason: "corrupt", detail });
  }
}
