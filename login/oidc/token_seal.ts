/**
 * Encrypts the provider's refresh tokens for the store, with AES-GCM and keys that are derived from
 * the key ring.
 *
 * @module
 */

import {
  deriveKeyBytes,
  fromBase64Url,
  type KeyRing,
  toBase64Url,
} from "core/crypto/signed_value.ts";
import type { Random } from "core/ports/random.ts";

/** Purpose of the keys that refresh tokens are encrypted with. */
const SEAL_PURPOSE = "refresh-token";
const NONCE_BYTES = 12;

/** Encrypts and decrypts tokens. Decryption needs the digest that the token was sealed with. */
export interface TokenSeal {
  seal(token: string, digest: string): Promise<string>;
  /** Returns undefined if no key of the ring decrypts the token. */
  unseal(sealed: string, digest: string): Promise<string | undefined>;
}

/** Derives the keys: the first of the ring encrypts, all decrypt. */
export async function openTokenSeal(
  ring: KeyRing,
  random: Pick<Random, "bytes">,
): Promise<TokenSeal> {
  const keys = await Promise.all(ring.map(async (key) => {
    const bytes = await deriveKeyBytes(key, SEAL_PURPOSE);
    return await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
  }));
  return {
    seal: async (token, digest) => {
      const iv = random.bytes(NONCE_BYTES);
      const [key] = keys;
      if (key === undefined) throw new TypeError("a key ring contains at least one key");
      const sealed = await crypto.subtle.encrypt(algorithm(iv, digest), key, bytesOf(token));
      return `${toBase64Url(iv)}.${toBase64Url(new Uint8Array(sealed))}`;
    },
    unseal: async (sealed, digest) => {
      const [iv, data] = sealed.split(".").map(fromBase64Url);
      if (iv === undefined || data === undefined) return undefined;
      for (const key of keys) {
        try {
          const plain = await crypto.subtle.decrypt(algorithm(iv, digest), key, data);
          return new TextDecoder().decode(plain);
        } catch {
          // Encrypted with another key of the ring, or with a removed one.
        }
      }
      return undefined;
    },
  };
}

/** The digest is authenticated, so a token that is copied to another row does not decrypt. */
function algorithm(iv: Uint8Array<ArrayBuffer>, digest: string): AesGcmParams {
  return { name: "AES-GCM", iv, additionalData: bytesOf(digest) };
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
