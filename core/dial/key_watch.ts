/**
 * Ends sessions whose key is no longer valid, within a fraction of a second and without a restart.
 * Polls the file while any agent is connected. So it works no matter who rendered the file, needs
 * only read access, and cannot miss a notification (docs/adr/0010-dial-keys-in-the-ledger.md).
 *
 * @module
 */

import { CLOSE } from "core/dial/frames.ts";
import { NOT_AUTHORIZED } from "core/dial/server_session.ts";
import { errorText } from "core/errors.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";

/** A connection that depends on its key. */
export interface KeyedSession {
  readonly agent: string;
  readonly peer: string;
  /** The key that was proven, if any. */
  readonly provenKey: string | undefined;
  end(code: number, reason: string): void;
}

/** Dependencies of the watch. */
export interface KeyWatchDeps {
  readonly keys: {
    enrolled(agent: string): Promise<readonly string[] | undefined>;
    generation(): Promise<number>;
  };
  readonly registry: { all(): readonly KeyedSession[] };
  readonly clock: Clock;
  readonly log: Log;
}

/** Starts the watch; the returned function stops it. */
export function watchKeys(deps: KeyWatchDeps): () => void {
  const { keys, registry, clock, log } = deps;
  /** Generation of the key file at which a session was last found valid. */
  const validAt = new WeakMap<KeyedSession, number>();
  let isStopped = false;
  let lastError = "";
  let cancel = () => {};

  const check = async () => {
    const sessions = registry.all();
    if (sessions.length === 0) return;
    const generation = await keys.generation();
    for (const session of sessions) {
      if (validAt.get(session) === generation) continue;
      const enrolled = await keys.enrolled(session.agent);
      if (isAdmitted(enrolled, session.provenKey)) validAt.set(session, generation);
      else {
        log.warning(session.provenKey === undefined ? "dial key required" : "dial key revoked", {
          agent: session.agent,
          peer: session.peer,
        });
        session.end(CLOSE.policyViolation, NOT_AUTHORIZED);
      }
    }
    lastError = "";
  };
  const arm = () => {
    cancel = clock.after(DIAL_LIMITS.keyFilePollMs, () => {
      check().catch((thrown) => {
        // Connected agents stay: no key was revoked. New connections are refused meanwhile.
        const error = errorText(thrown);
        if (error !== lastError) log.error("dial keys not read", { error });
        lastError = error;
      }).finally(() => {
        if (!isStopped) arm();
      });
    });
  };
  arm();
  return () => {
    isStopped = true;
    cancel();
  };
}

/** Tells whether a session may continue; one without a key only if its agent never had one. */
function isAdmitted(enrolled: readonly string[] | undefined, provenKey: string | undefined) {
  if (provenKey === undefined) return enrolled === undefined;
  // A proven key that is no longer listed was removed from the ledger by hand.
  return enrolled?.includes(provenKey) ?? false;
}
