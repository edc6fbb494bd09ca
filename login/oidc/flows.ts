/**
 * Sign-ins that are under way, on the server (decision 20): each is good once, for ten minutes, and
 * for the browser that began it. The one `wv_oidc_state` cookie names the browser, so that several tabs
 * can sign in at once. Bounded: a browser has at most 8, a client's own oldest make room first.
 *
 * @module
 */

import { LOGIN_LIMITS } from "core/limits.ts";
import type { Clock, Random } from "core/ports.ts";
import { type Signer, toBase64Url } from "core/signed_value.ts";

/** Purpose of the cookie's token. */
export const BROWSER_PURPOSE = "oidc-state";

/** One sign-in. Everything in it was made for it alone (RFC 7636, 7.1). */
export interface Flow {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** A safe return path. */
  readonly next: string;
}

/** The sign-ins. */
export interface Flows {
  /** Begins one; returns the value of the cookie too. */
  begin(
    of: { readonly cookie: string | undefined; readonly client: string; readonly next: string },
  ): Promise<{ readonly flow: Flow; readonly cookie: string }>;
  /** Takes the one of a state, which is gone then, whatever comes of it. */
  take(cookie: string | undefined, state: string): Promise<Flow | undefined>;
  size(): number;
}

interface Kept {
  readonly flow: Flow;
  readonly browser: string;
  readonly client: string;
  readonly until: number;
}

const ID_BYTES = 16;
const SECRET_BYTES = 32;

/** Creates an empty set over a signer of `BROWSER_PURPOSE`. */
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
  const kept = new Map<string, Kept>();
  const text = (bytes: number) => toBase64Url(random.bytes(bytes));
  const browserOf = async (cookie: string | undefined) => {
    if (cookie === undefined) return undefined;
    const fields = await signer.verify(cookie, clock.now());
    return fields.ok ? fields.value.principal : undefined;
  };
  /** Drops the oldest of those that `isSame` until fewer than `max` are left. */
  const makeRoom = (max: number, isSame: (one: Kept) => boolean) => {
    const same = [...kept].filter(([, one]) => isSame(one));
    for (const [state] of same.slice(0, Math.max(0, same.length - max + 1))) kept.delete(state);
  };
  const forgetOld = () => {
    const now = clock.monotonic();
    for (const [state, { until }] of kept) {
      if (until > now && kept.size < flowsKept) break;
      kept.delete(state);
    }
  };
  return {
    begin: async ({ cookie, client, next }) => {
      forgetOld();
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
      // Another browser's is left alone: whoever knows a state must not be able to spoil it.
      if (found === undefined || browser === undefined || found.browser !== browser) {
        return undefined;
      }
      kept.delete(state);
      return found.until > clock.monotonic() ? found.flow : undefined;
    },
    size: () => kept.size,
  };
}
