/**
 * Deletes old events and turns while the gateway runs, when `gateway.events_days` is set. It works
 * in small transactions, so that agents and pages are served in between.
 * `core/store/transcript_retention.ts` defines what may be deleted. Without the setting nothing is
 * deleted, because a clock that jumps ahead would delete transcripts for good.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import { FileFault } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import type { Retention } from "core/store/transcript_retention.ts";
import { DAY_MS, HOUR_MS } from "core/text/duration.ts";

const EVERY_MS = HOUR_MS;
/** Pause between two transactions; one takes a few milliseconds. */
const PAUSE_MS = 200;

/** Sweeps now and each hour. The returned function stops it. */
export function startSweep(deps: {
  readonly retention: Retention;
  readonly days: number;
  readonly clock: Clock;
  readonly log: Log;
}): () => void {
  const { retention, days, clock, log } = deps;
  let cancel = () => {};
  let isLogged = false;
  let gone = { events: 0, turns: 0 };

  function sweep(): void {
    const isMore = sweepSome();
    if (!isMore && gone.events + gone.turns > 0) {
      log.info("old events deleted", { ...gone, days });
      gone = { events: 0, turns: 0 };
    }
    cancel = clock.after(isMore ? PAUSE_MS : EVERY_MS, sweep);
  }

  function sweepSome(): boolean {
    try {
      const now = clock.now();
      const bound = retention.boundOf(now - days * DAY_MS, now);
      if (bound === undefined) return false;
      if (bound === "all old") {
        // There may have been no activity for that long: log it once, and again only after new
        // events.
        if (!isLogged) {
          log.warning("no old events deleted", {
            reason: "all events are older than the limit; check this host's clock",
            hint: "timedatectl",
          });
        }
        isLogged = true;
        return false;
      }
      isLogged = false;
      const some = retention.deleteSome(bound);
      gone = { events: gone.events + some.events, turns: gone.turns + some.turns };
      return some.events + some.turns > 0;
    } catch (thrown) {
      if (!(thrown instanceof FileFault)) throw thrown;
      log.warning("no old events deleted", { reason: errorText(thrown) });
      return false;
    }
  }

  sweep();
  return () => cancel();
}
