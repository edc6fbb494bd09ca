/**
 * `wv_refresh_ref`: an opaque reference with which a browser gets a new session after the old one
 * has expired, as long as the provider agrees. The browser has 256 random bits; the store has their
 * digest and the provider's encrypted refresh token.
 *
 * A reference is valid once: each use replaces it. All references that follow from one sign-in are
 * a family. A second use means that a reference was copied, and ends its family with all sessions
 * of it (RFC 9700, 4.14.2).
 *
 * @module
 */

import { COOKIES } from "login/cookies.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Random } from "core/ports/random.ts";
import type { RefreshStore, SessionRow } from "core/login/store.ts";
import { ok, type Result } from "core/result.ts";
import { type KeyRing, toBase64Url } from "core/crypto/signed_value.ts";
import { openTokenSeal } from "login/oidc/token_seal.ts";

const REFERENCE_BYTES = 32;
const REFERENCE = /^[A-Za-z0-9_-]{43}$/;

/** A valid reference. */
export interface Refresh {
  readonly family: string;
  readonly principal: string;
  /** The provider's token; a secret. */
  readonly token: string;
}

/** The refresh references of all browsers. */
export interface Refreshes {
  /** Creates the first reference of a family. */
  add(
    of: { readonly principal: string; readonly token: string },
  ): Promise<Result<{ readonly reference: string; readonly family: string }>>;
  /**
   * Looks a reference up. Returns undefined if it is unknown, expired or used, or if its token
   * cannot be decrypted. A used one also ends its family.
   */
  open(reference: string): Promise<Refresh | undefined>;
  /**
   * Marks a reference as used and adds its successor and the session, in one transaction;
   * undefined if it is no longer valid.
   */
  rotate(
    reference: string,
    to: Refresh,
    session: SessionRow,
  ): Promise<Result<string | undefined>>;
  /** Ends the reference's family and the sessions of that family. */
  end(reference: string): Promise<Result<void>>;
}

/** Creates the references over a store. */
export async function createRefreshes(
  ring: KeyRing,
  deps: {
    readonly store: RefreshStore;
    readonly clock: Pick<Clock, "now">;
    readonly random: Pick<Random, "bytes">;
    /** Called with the ids of deleted sessions. */
    readonly onEnded: (ids: readonly string[]) => void;
  },
): Promise<Refreshes> {
  const { store, clock, random, onEnded } = deps;
  const { seal, unseal } = await openTokenSeal(ring, random);
  const endFamily = (family: string): Result<void> => {
    const ended = store.endFamily(family);
    if (!ended.ok) return ended;
    onEnded(ended.value);
    return ok(undefined);
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

async function digestOf(reference: string): Promise<string> {
  return toBase64Url(
    new Uint8Array(
      await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`refresh/${reference}`)),
    ),
  );
}
