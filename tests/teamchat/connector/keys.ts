/**
 * Signing keys of the kit: makes tokens as the platform's connector does, or with one defect, and
 * publishes the key set. Keys can be rotated, and be with or without endorsements.
 *
 * @module
 */

import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { defined } from "core/defined.ts";

/** Application id of every test. */
export const APP_ID = "11111111-2222-4333-8444-555555555555";
/** Tenant of every test. */
export const TENANT = "99999999-8888-4777-8666-555555555555";
/** Issuer of the kit's cloud. */
export const ISSUER = "https://connector.test";

/** One signing key. */
export interface KitKey {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
  readonly endorsements: readonly string[] | undefined;
}

/** How a token differs from a good one; an undefined claim is omitted. */
export interface TokenChange {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  readonly key?: KitKey;
}

/** Makes keys and tokens. */
export interface KitKeys {
  readonly current: KitKey;
  /** Returns the published key set. */
  published(): { readonly keys: readonly unknown[] };
  /** Makes a key, which is published by default. */
  make(
    kid: string,
    options?: {
      readonly endorsements?: readonly string[] | undefined;
      readonly isHidden?: boolean;
    },
  ): Promise<KitKey>;
  /** Publishes a new key and removes the old one. */
  rotate(kid: string): Promise<KitKey>;
  token(serviceUrl: string, change?: TokenChange): Promise<string>;
}

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;
const pairs: Promise<Pair>[] = [];

/** Key pairs are slow to generate, so all kits of a process share them, in order. */
function pairFor(place: number): Promise<Pair> {
  return pairs[place] ??= generateKeyPair("RS256", { extractable: true });
}

/** Creates the keys, with one that is endorsed for the platform; `now` in milliseconds. */
export async function createKitKeys(now: () => number): Promise<KitKeys> {
  const published = new Map<string, KitKey>();
  let made = 0;
  const make: KitKeys["make"] = async (kid, options = {}) => {
    const { endorsements = ["msteams"], isHidden = false } = options;
    const pair = await pairFor(made++);
    const key = {
      kid,
      privateKey: pair.privateKey as CryptoKey,
      publicJwk: await exportJWK(pair.publicKey),
      endorsements: Object.hasOwn(options, "endorsements") ? options.endorsements : endorsements,
    };
    if (!isHidden) published.set(kid, key);
    return key;
  };
  let current = await make("key-1");
  return {
    get current() {
      return current;
    },
    make,
    published: () => ({
      keys: [...published.values()].map(({ kid, publicJwk, endorsements }) => ({
        ...publicJwk,
        kid,
        use: "sig",
        ...defined({ endorsements }),
      })),
    }),
    rotate: async (kid) => {
      published.delete(current.kid);
      current = await make(kid);
      return current;
    },
    token: (serviceUrl, change = {}) => {
      const seconds = Math.floor(now() / 1000);
      const key = change.key ?? current;
      const claims: Record<string, unknown> = {
        iss: ISSUER,
        aud: APP_ID,
        iat: seconds - 5,
        nbf: seconds - 5,
        exp: seconds + 3_600,
        serviceurl: serviceUrl,
        ...change.claims,
      };
      for (const [name, value] of Object.entries(claims)) {
        if (value === undefined) delete claims[name];
      }
      const header = { alg: "RS256", kid: key.kid, typ: "JWT", ...change.header };
      return new SignJWT(claims).setProtectedHeader(header).sign(key.privateKey);
    },
  };
}
