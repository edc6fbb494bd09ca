/**
 * The signing keys of the bot connector: fetched, checked, cached for a day, and kept longer when
 * a fetch fails. One fetch at a time. An unknown key triggers a fetch at most every half minute,
 * so forged tokens cannot make the gateway flood the platform.
 *
 * Source: Bot Connector authentication, "OpenID metadata document" and "Verify the JWT token".
 *
 * @module
 */

import { importJWK } from "jose";
import * as z from "zod";
import { errorText } from "core/errors.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import { readText } from "core/net/bounded_body.ts";
import type { Clock } from "core/ports/clock.ts";
import type { HttpClient } from "core/ports/http_client.ts";
import type { Log } from "core/ports/log.ts";
import { withinTime } from "core/concurrency/time_limit.ts";
import type { Cloud } from "core/teamchat/cloud.ts";
import { hostPortOf } from "core/teamchat/cloud.ts";
import { strictUtf8 } from "core/text/utf8.ts";
import type { Metrics } from "teamchat/metrics.ts";

/** A key that signs tokens. It stays the same object while the platform publishes the same key. */
export interface SigningKey {
  readonly kid: string;
  readonly key: CryptoKey;
  /** Channels that the key is endorsed for. */
  readonly endorsements: readonly string[];
}

/** Finds keys. */
export interface KeySet {
  /** Returns the key, `unknown`, or `unavailable` when no keys were fetched or they are too old. */
  find(kid: string): Promise<SigningKey | "unknown" | "unavailable">;
  /** The cached key, without a fetch. */
  current(kid: string): SigningKey | undefined;
  /** Milliseconds since the keys were fetched; undefined when they never were. */
  ageMs(): number | undefined;
  /** Fetches now, unless a fetch is in flight or just ended. */
  refresh(): Promise<void>;
}

/** Dependencies of the key set. */
export interface KeySetDeps {
  readonly cloud: Cloud;
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** The only algorithm that tokens are signed with. */
export const ALGORITHM = "RS256";
const MODULUS_BITS_MIN = 2_048;

const metadataShape = z.object({
  jwks_uri: z.string().max(1_024),
  id_token_signing_alg_values_supported: z.array(z.string()).optional(),
});
const keyShape = z.object({
  kty: z.string(),
  kid: z.string().min(1).max(256).optional(),
  use: z.string().optional(),
  n: z.string().max(2_048).optional(),
  e: z.string().max(16).optional(),
  endorsements: z.array(z.string().max(64)).max(256).optional(),
});
const keysShape = z.object({ keys: z.array(keyShape).max(TEAMCHAT_LIMITS.keysCountMax) });

interface Loaded {
  readonly byKid: ReadonlyMap<string, SigningKey & { readonly print: string }>;
  readonly at: number;
}

/** Creates an empty key set; the first `find` fetches. */
export function createKeySet(deps: KeySetDeps): KeySet {
  const { clock, log, metrics } = deps;
  let loaded: Loaded | undefined;
  let fetching: Promise<void> | undefined;
  let triedAt = -Infinity;
  let hasFailed = false;

  async function load(): Promise<void> {
    triedAt = clock.monotonic();
    try {
      loaded = { byKid: await fetchKeys(deps, loaded), at: clock.monotonic() };
      hasFailed = false;
      metrics.count("key_fetches", { result: "fetched" });
    } catch (thrown) {
      hasFailed = true;
      metrics.count("key_fetches", { result: "failed" });
      log.error("connector keys not fetched", { error: errorText(thrown) });
    }
  }
  const refresh = async (pauseMs: number) => {
    if (fetching === undefined && clock.monotonic() - triedAt < pauseMs) return;
    fetching ??= load().finally(() => {
      fetching = undefined;
    });
    await fetching;
  };
  const ageMs = () => loaded === undefined ? undefined : clock.monotonic() - loaded.at;
  const pauseMs = () =>
    hasFailed && loaded === undefined
      ? TEAMCHAT_LIMITS.keysRetryMs
      : TEAMCHAT_LIMITS.keysCooldownMs;

  return {
    ageMs,
    current: (kid) => loaded?.byKid.get(kid),
    refresh: () => refresh(pauseMs()),
    find: async (kid) => {
      const age = ageMs();
      if (age === undefined || age > TEAMCHAT_LIMITS.keysStaleMs) await refresh(pauseMs());
      // Old but usable: this request does not wait for the refresh.
      else if (age > TEAMCHAT_LIMITS.keysFreshMs) void refresh(pauseMs());
      const isUsable = () => (ageMs() ?? Infinity) <= TEAMCHAT_LIMITS.keysStaleMs;
      if (!isUsable()) return "unavailable";
      const known = loaded?.byKid.get(kid);
      if (known !== undefined) return known;
      await refresh(TEAMCHAT_LIMITS.keysCooldownMs);
      return loaded?.byKid.get(kid) ?? "unknown";
    },
  };
}

async function fetchKeys(deps: KeySetDeps, before: Loaded | undefined) {
  const { cloud } = deps;
  const metadata = metadataShape.parse(await fetchJson(deps, cloud.openidMetadata));
  const algorithms = metadata.id_token_signing_alg_values_supported;
  if (algorithms !== undefined && !algorithms.includes(ALGORITHM)) {
    throw new Error(`the metadata does not offer ${ALGORITHM}`);
  }
  const url = new URL(metadata.jwks_uri);
  const { protocol } = cloud.openidMetadata;
  if (url.protocol !== protocol || hostPortOf(url) !== hostPortOf(cloud.openidMetadata)) {
    throw new Error("the metadata names keys on another host");
  }
  const { keys } = keysShape.parse(await fetchJson(deps, url));
  const byKid = new Map<string, SigningKey & { readonly print: string }>();
  for (const { kty, kid, use, n, e, endorsements = [] } of keys) {
    if (kty !== "RSA" || kid === undefined || n === undefined || e === undefined) continue;
    if (use !== undefined && use !== "sig") continue;
    // Two keys with one id are ambiguous: tokens would be checked by the wrong one.
    if (byKid.has(kid)) throw new Error("two keys have the same id");
    if (n.length * 6 < MODULUS_BITS_MIN) continue;
    const print = JSON.stringify([n, e, endorsements]);
    const old = before?.byKid.get(kid);
    if (old?.print === print) byKid.set(kid, old);
    else {
      const key = await importJWK({ kty, n, e, alg: ALGORITHM }, ALGORITHM) as CryptoKey;
      byKid.set(kid, { kid, key, endorsements, print });
    }
  }
  if (byKid.size === 0) throw new Error("none of its keys is usable");
  return byKid;
}

function fetchJson({ http, clock }: KeySetDeps, url: URL): Promise<unknown> {
  return withinTime(clock, TEAMCHAT_LIMITS.fetchSeconds * 1000, async (signal) => {
    const response = await http.fetch(url, {
      headers: { accept: "application/json" },
      redirect: "error",
      signal,
    });
    const text = await readText(response.body, TEAMCHAT_LIMITS.keysBytesMax, strictUtf8());
    if (response.status !== 200) throw new Error(`the answer is ${response.status}`);
    if (!text.ok) throw new Error("the answer is too long");
    return JSON.parse(text.value);
  });
}
