/**
 * Enrolls in the ledger the keys that were proven at this gateway. A key stays in the gateway's
 * database until the rendered file names its agent, so a restart or an unavailable daemon does not
 * lose it. A refused key is retried with growing delays, because an operator may fix the cause.
 *
 * @module
 */

import { backoffMs } from "core/concurrency/backoff.ts";
import { errorText } from "core/errors.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { Result } from "core/result.ts";
import type { AgentKey, DialKeys } from "gateway/dial/keys.ts";

/** Enrolls a key in the ledger; the port for the root daemon's verb. */
export interface EnrollKey {
  /** Refuses with `daemon-not-running` when the daemon cannot be reached. */
  enroll(of: AgentKey, signal: AbortSignal): Promise<Result<void>>;
}

/** Code of a temporary refusal. */
const DAEMON_AWAY = "daemon-not-running";

/** A running forwarder. */
export interface KeyForwarder {
  /** Checks for waiting keys now. */
  wake(): void;
  /** Stops the forwarder. The daemon finishes a request that is in flight. */
  close(): Promise<void>;
}

/** Dependencies of the forwarder. */
export interface ForwarderDeps {
  readonly keys: Pick<DialKeys, "pending">;
  readonly forward: EnrollKey;
  readonly clock: Clock;
  readonly log: Log;
}

/** Starts the forwarder, first with the keys that an earlier run left. */
export function startKeyForwarder(deps: ForwarderDeps): KeyForwarder {
  const { clock } = deps;
  const stop = new AbortController();
  /** Keys that the ledger has accepted and the file does not show yet. */
  const accepted = new Set<string>();
  /** Last logged message for each waiting key, to log each message once. */
  const logged = new Map<string, string>();
  let nap = new AbortController();

  const run = async () => {
    let failures = 0;
    while (!stop.signal.aborted) {
      // Created before the check, so that a key that arrives during it ends the wait at once.
      nap = new AbortController();
      const failed = await sendAll(deps, { accepted, logged }, stop.signal);
      failures = failed === undefined ? 0 : failures + 1;
      const rest = AbortSignal.any([stop.signal, nap.signal]);
      if (failed === undefined) await untilAborted(rest);
      else await clock.sleep(waitMs(failed, failures), rest);
    }
  };
  const running = run();
  return {
    wake: () => nap.abort(),
    close: () => {
      stop.abort();
      return running;
    },
  };
}

/** Sends each waiting key. Returns the code of the last failure. */
async function sendAll(
  { keys, forward, log }: ForwarderDeps,
  seen: { readonly accepted: Set<string>; readonly logged: Map<string, string> },
  signal: AbortSignal,
): Promise<string | undefined> {
  let failed: string | undefined;
  try {
    for (const one of await keys.pending()) {
      if (signal.aborted) return undefined;
      if (seen.accepted.has(one.key)) continue;
      const sent = await forward.enroll(one, signal);
      if (sent.ok) {
        seen.accepted.add(one.key);
        log.info("dial key in the ledger", { agent: one.agent, key: one.key });
      } else if (!signal.aborted) {
        failed = sent.error.code;
        const { code, message } = sent.error;
        if (seen.logged.get(one.key) !== message) {
          log.warning("dial key not in the ledger yet", { agent: one.agent, code, message });
        }
        seen.logged.set(one.key, message);
        if (failed === DAEMON_AWAY) return failed;
      }
    }
    return failed;
  } catch (thrown) {
    log.error("dial keys not forwarded", { error: errorText(thrown) });
    return "fault";
  }
}

function waitMs(code: string, failures: number): number {
  const { keyForwardFirstMs, keyForwardUnreachableMsMax, keyForwardRefusedMsMax } = DIAL_LIMITS;
  const maxMs = code === DAEMON_AWAY ? keyForwardUnreachableMsMax : keyForwardRefusedMsMax;
  return backoffMs({ firstMs: keyForwardFirstMs, maxMs }, failures - 1);
}

function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
}
