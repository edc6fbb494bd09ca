/**
 * The token for answers: client credentials at the identity provider, fetched once and cached
 * until shortly before expiry. Concurrent callers share one request. The old token is used while a
 * new one is unavailable. Neither token nor secret appears in a log or a fault.
 *
 * Source: Bot Connector authentication, "Step 1: Request an access token".
 *
 * @module
 */

import * as z from "zod";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import { readText } from "core/net/bounded_body.ts";
import type { Clock } from "core/ports/clock.ts";
import type { HttpClient } from "core/ports/http_client.ts";
import type { Log } from "core/ports/log.ts";
import type { Cloud } from "core/teamchat/cloud.ts";
import { withinTime } from "core/concurrency/time_limit.ts";
import { strictUtf8 } from "core/text/utf8.ts";
import type { Metrics } from "teamchat/metrics.ts";

/** Why there is no token; also a state of health. */
export type AppTokenFault = "secret-expired" | "secret-invalid" | "tenant-unknown" | "unavailable";

/** A token, or why there is none. */
export type AppTokenAnswer =
  | { readonly ok: true; readonly token: string }
  | { readonly ok: false; readonly why: AppTokenFault };

/** Provides tokens. */
export interface AppTokens {
  get(): Promise<AppTokenAnswer>;
  /**
   * Call when the platform refused this token. The next `get` requests a new one, unless that
   * happened shortly before.
   */
  reject(token: string): void;
  /** Why the last request failed; undefined after a success. */
  fault(): AppTokenFault | undefined;
}

/** Dependencies. */
export interface AppTokenDeps {
  readonly cloud: Cloud;
  readonly appId: string;
  readonly secret: string;
  readonly tenantId: string | undefined;
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

const granted = z.object({
  // An invalid header value would make each request fail, and look as if it had been sent.
  access_token: z.string().max(16_384).regex(/^[\x21-\x7e]+$/),
  expires_in: z.coerce.number().positive().max(7 * 24 * 3_600),
});
const refused = z.object({
  error: z.string().max(128),
  error_description: z.string().max(8_192).optional(),
});
/** Pause between requests after a failure. */
const FAULT_PAUSE_MS = 5_000;
/** Pause before another new token, for a platform that refuses new tokens too. */
const REJECT_PAUSE_MS = 30_000;
/** Codes of the identity provider (Entra "AADSTS" error codes). */
const SECRET_EXPIRED = "AADSTS7000222";
const SECRET_INVALID = "AADSTS7000215";
const TENANT_UNKNOWN = "AADSTS90002";

/** Creates the token source; the first `get` fetches. */
export function createAppTokens(deps: AppTokenDeps): AppTokens {
  const { clock, log, metrics } = deps;
  let held: { readonly token: string; readonly until: number } | undefined;
  let asking: Promise<AppTokenAnswer> | undefined;
  let fault: AppTokenFault | undefined;
  let pausedUntil = -Infinity;
  let rejectedAt = -Infinity;

  async function ask(): Promise<AppTokenAnswer> {
    const answer = await requestToken(deps);
    metrics.count("app_tokens", { result: answer.ok ? "granted" : answer.why });
    if (!answer.ok) {
      if (answer.why !== fault) log.error("no app token", { reason: answer.why });
      fault = answer.why;
      pausedUntil = clock.monotonic() + FAULT_PAUSE_MS;
      return answer;
    }
    fault = undefined;
    held = { token: answer.token, until: clock.monotonic() + answer.seconds * 1000 };
    return { ok: true, token: answer.token };
  }

  return {
    fault: () => fault,
    reject: (token) => {
      const now = clock.monotonic();
      if (held?.token !== token || now - rejectedAt < REJECT_PAUSE_MS) return;
      rejectedAt = now;
      held = undefined;
    },
    get: async () => {
      const now = clock.monotonic();
      const current = held;
      if (current !== undefined && current.until - TEAMCHAT_LIMITS.appTokenEarlyMs > now) {
        return { ok: true, token: current.token };
      }
      const isGood = current !== undefined && current.until > now;
      if (now < pausedUntil && asking === undefined) {
        return isGood
          ? { ok: true, token: current.token }
          : { ok: false, why: fault ?? "unavailable" };
      }
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      const answer = await asking;
      return answer.ok || !isGood ? answer : { ok: true, token: current.token };
    },
  };
}

async function requestToken(
  deps: AppTokenDeps,
): Promise<
  | { readonly ok: true; readonly token: string; readonly seconds: number }
  | { readonly ok: false; readonly why: AppTokenFault }
> {
  const { cloud, appId, secret, tenantId, http, clock } = deps;
  const url = new URL(`${tenantId ?? cloud.defaultTenant}/oauth2/v2.0/token`, cloud.loginUrl);
  const body = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: appId,
    client_secret: secret,
    scope: cloud.scope,
  });
  try {
    return await withinTime(clock, TEAMCHAT_LIMITS.fetchSeconds * 1000, async (signal) => {
      const response = await http.fetch(url, { method: "POST", body, redirect: "error", signal });
      const read = await readText(response.body, TEAMCHAT_LIMITS.responseBytesMax, strictUtf8());
      const text = read.ok ? read.value : "";
      if (response.status === 200) {
        const { access_token: token, expires_in: seconds } = granted.parse(JSON.parse(text));
        return { ok: true, token, seconds };
      }
      return { ok: false, why: faultOf(response.status, text) };
    });
  } catch {
    // The error may quote the request, which contains the secret.
    return { ok: false, why: "unavailable" };
  }
}

function faultOf(status: number, text: string): AppTokenFault {
  if (status !== 400 && status !== 401) return "unavailable";
  try {
    const { error, error_description: words = "" } = refused.parse(JSON.parse(text));
    if (words.includes(SECRET_EXPIRED)) return "secret-expired";
    if (words.includes(SECRET_INVALID) || error === "invalid_client") return "secret-invalid";
    return words.includes(TENANT_UNKNOWN) ? "tenant-unknown" : "unavailable";
  } catch {
    return "unavailable";
  }
}
