/**
 * Pending sign-ins, kept on the server. Each can be used once, for ten minutes, and only by the
 * browser that started it. The `wv_oidc_state` cookie identifies the browser, so several tabs can
 * sign in concurrently. Bounded: at most 8 per browser, and a client evicts its own oldest first.
 *
 * @module
 */

import { type Signer, toBase64Url } from "core/crypto/signed_value.ts";
import { LOGIN_LIMITS } from "core/limits/login.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Random } from "core/ports/random.ts";

/** Purpose of the cookie's token. */
export const BROWSER_PURPOSE = "oidc-state";

/** One sign-in. All its values are unique to it (RFC 7636, 7.1). */
export interface Flow {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** A safe return path. */
  readonly next: string;
}

/** The pending sign-ins. */
export interface Flows {
  /** Starts a sign-in; also returns the value of the cookie. */
  begin(
    of: { readonly cookie: string | undefined; readonly client: string; readonly next: string },
  ): Promise<{ readonly flow: Flow; readonly cookie: string }>;
  /**
   * Removes and returns the sign-in of a state; undefined if unknown, expired or not its browser.
   */
  take(cookie: string | undefined, state: string): Promise<Flow | undefined>;
  size(): number;
}

interface PendingFlow {
  readonly flow: Flow;
  readonly browser: string;
  readonly client: string;
  readonly until: number;
}

const ID_BYTES = 16;
const SECRET_BYTES = 32;

/** Creates an empty set; the signer must have the purpose `BROWSER_PURPOSE`. */
export function createFlows(
  signer: Signer,
  ports: {
    readonly clock: Pick<Clock, "now" | "monotonic">;
    readonly random: Pick<Random, "bytes">;
  },
): Flows {
  const { clock, random } = ports;
  const { flowSeconds, flowsKept, flowsPerBrowserMax, flowsPerClientMax } = LOGIN_LIMITS;
  /** By state, oldest first. */
  const kept = new Map<string, PendingFlow>();
  const text = (bytes: number) => toBase64Url(random.bytes(bytes));
  const browserOf = async (cookie: string | undefined) => {
    if (cookie === undefined) return undefined;
    const fields = await signer.verify(cookie, clock.now());
    return fields.ok ? fields.value.principal : undefined;
  };
  /** Evicts the oldest matches of `isSame` until fewer than `max` remain. */
  const makeRoom = (max: number, isSame: (one: PendingFlow) => boolean) => {
    const same = [...kept].filter(([, one]) => isSame(one));
    for (const [state] of same.slice(0, Math.max(0, same.length - max + 1))) kept.delete(state);
  };
  const evictExpired = () => {
    const now = clock.monotonic();
    for (const [state, { until }] of kept) {
      if (until > now && kept.size < flowsKept) break;
      kept.delete(state);
    }
  };
  return {
    begin: async ({ cookie, client, next }) => {
      evictExpired();
      const browser = await browserOf(cookie) ?? text(ID_BYTES);
      makeRoom(flowsPerBrowserMax, (one) => one.browser === browser);
      makeRoom(flowsPerClientMax, (one) => one.client === client);
      const flow: Flow = {
        state: text(SECRET_BYTES),
        nonce: text(SECRET_BYTES),
        verifier: text(SECRET_BYTES),
        next,
      };
      const until = clock.monotonic() + flowSeconds * 1000;
      kept.set(flow.state, { flow, browser, client, until });
      const signed = await signer.sign({
        expiresAt: Math.floor(clock.now() / 1000) + flowSeconds,
        principal: browser,
      });
      if (!signed.ok) throw new TypeError(signed.error.message);
      return { flow, cookie: signed.value };
    },
    take: async (cookie, state) => {
      const browser = await browserOf(cookie);
      const found = kept.get(state);
      // Keep it for its own browser: knowing a state must not allow cancelling the sign-in.
      if (found === undefined || browser === undefined || found.browser !== browser) {
        return undefined;
      }
      kept.delete(state);
      return found.until > clock.monotonic() ? found.flow : undefined;
    },
    size: () => kept.size,
  };
}
