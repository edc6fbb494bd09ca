/**
 * `wv_refresh_ref` (spec "Cookies"): an opaque reference that lets a browser have a new session when
 * the old one has run out, as long as the provider agrees. The browser holds 256 random bits, the
 * store their digest and the provider's refresh token, encrypted. A reference is good once; one that
 * comes again has been copied, and ends its whole family (RFC 9700, 4.14.2).
 *
 * @module
 */

import { COOKIES } from "login/cookies.ts";
import type { Clock, Random } from "core/ports.ts";
import type { RefreshStore, SessionRow } from "core/login_store.ts";
import { ok, type Result } from "core/result.ts";
import { deriveKeyBytes, fromBase64Url, type KeyRing, toBase64Url } from "core/signed_value.ts";

/** Purpose of the keys that refresh tokens are encrypted with. */
const SEAL_PURPOSE = "refresh-token";
const REFERENCE_BYTES = 32;
const NONCE_BYTES = 12;
const REFERENCE = /^[A-Za-z0-9_-]{43}$/;

/** A reference that holds. */
export interface Refresh {
  readonly family: string;
  readonly principal: string;
  /** The provider's token; a secret. */
  readonly token: string;
}

/** The references. */
export interface Refreshes {
  /** Makes the first reference of a family. */
  add(
    of: { readonly principal: string; readonly token: string },
  ): Promise<Result<{ readonly reference: string; readonly family: string }>>;
  /** Looks one up; one that was used before ends its family. */
  open(reference: string): Promise<Refresh | undefined>;
  /**
   * Uses one up, and makes the next of its family and the session, all in one; undefined when it does
   * not hold any more.
   */
  rotate(
    reference: string,
    to: Refresh,
    session: SessionRow,
  ): Promise<Result<string | undefined>>;
  /** Ends the family of a reference, and the sessions that came of it. */
  end(reference: string): Promise<Result<void>>;
}

/** Creates the references over a store. */
export async function createRefreshes(
  ring: KeyRing,
  parts: {
    readonly store: RefreshStore;
    readonly clock: Pick<Clock, "now">;
    readonly random: Pick<Random, "bytes">;
    /** Told of sessions whose rows are gone. */
    readonly onEnded: (ids: readonly string[]) => void;
  },
): Promise<Refreshes> {
  const { store, clock, random, onEnded } = parts;
  const endFamily = (family: string): Result<void> => {
    const ended = store.endFamily(family);
    if (!ended.ok) return ended;
    onEnded(ended.value);
    return ok(undefined);
  };
  const keys = await Promise.all(
    ring.map(async (key) =>
      await crypto.subtle.importKey(
        "raw",
        await deriveKeyBytes(key, SEAL_PURPOSE),
        "AES-GCM",
        false,
        [
          "encrypt",
          "decrypt",
        ],
      )
    ),
  );
  const seal = async (token: string, digest: string): Promise<string> => {
    const iv = random.bytes(NONCE_BYTES);
    const [key] = keys;
    if (key === undefined) throw new TypeError("a key ring holds at least one key");
    const sealed = await crypto.subtle.encrypt(algorithm(iv, digest), key, bytesOf(token));
    return `${toBase64Url(iv)}.${toBase64Url(new Uint8Array(sealed))}`;
  };
  const unseal = async (sealed: string, digest: string): Promise<string | undefined> => {
    const [iv, data] = sealed.split(".").map(fromBase64Url);
    if (iv === undefined || data === undefined) return undefined;
    for (const key of keys) {
      try {
        const plain = await crypto.subtle.decrypt(algorithm(iv, digest), key, data);
        return new TextDecoder().decode(plain);
      } catch {
        // Of another key of the ring, or of one that was taken out.
      }
    }
    return undefined;
  };
  const make = async ({ family, principal, token }: Refresh) => {
    const reference = toBase64Url(random.bytes(REFERENCE_BYTES));
    const digest = await digestOf(reference);
    const row = {
      digest,
      family,
      principal,
      sealed: await seal(token, digest),
      expires: clock.now() + COOKIES.refresh.maxAgeSeconds * 1000,
      isUsed: false,
    };
    return { reference, row };
  };
  return {
    add: async (of) => {
      const { reference, row } = await make({ ...of, family: toBase64Url(random.bytes(16)) });
      const added = store.add(row);
      return added.ok ? ok({ reference, family: row.family }) : added;
    },
    open: async (reference) => {
      if (!REFERENCE.test(reference)) return undefined;
      const digest = await digestOf(reference);
      const row = store.find(digest);
      if (row === undefined || row.expires <= clock.now()) return undefined;
      if (row.isUsed) {
        endFamily(row.family);
        return undefined;
      }
      const token = await unseal(row.sealed, digest);
      return token === undefined
        ? undefined
        : { family: row.family, principal: row.principal, token };
    },
    rotate: async (reference, to, session) => {
      const next = await make(to);
      const rotated = store.rotate(await digestOf(reference), next.row, session);
      if (!rotated.ok) return rotated;
      if (rotated.value === undefined) return ok(undefined);
      onEnded(rotated.value);
      return ok(next.reference);
    },
    end: async (reference) => {
      const row = REFERENCE.test(reference) ? store.find(await digestOf(reference)) : undefined;
      return row === undefined ? ok(undefined) : endFamily(row.family);
    },
  };
}

/** The digest is bound in, so that a sealed token opens in its own row alone. */
function algorithm(iv: Uint8Array<ArrayBuffer>, digest: string): AesGcmParams {
  return { name: "AES-GCM", iv, additionalData: bytesOf(digest) };
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

async function digestOf(reference: string): Promise<string> {
  return toBase64Url(
    new Uint8Array(await crypto.subtle.digest("SHA-256", bytesOf(`refresh/${reference}`))),
  );
}
