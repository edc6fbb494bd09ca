/**
 * The comparison of the spend ceilings before a turn: records the warnings, and returns why a
 * turn may not spend.
 *
 * @module
 */

import type { Refusal } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Ceilings } from "units/dial/ceilings.ts";
import type { Recorder } from "units/dial/recorder.ts";

/** Returns why a turn may not spend; undefined for one that may. */
export async function spendStop(
  turnId: string,
  { ceilings, recorder, clock, signal }: {
    readonly ceilings?: Pick<Ceilings, "check"> | undefined;
    readonly recorder: Recorder;
    readonly clock: Clock;
    readonly signal: AbortSignal;
  },
): Promise<Refusal | undefined> {
  if (ceilings === undefined) return undefined;
  const { notices, stop } = await ceilings.check(undefined, signal);
  const at = clock.now();
  const drafts = notices.map((text) => ({ at, turnId, kind: "notice", payload: { text } }));
  if (drafts.length > 0) await recorder.record(drafts, { isControl: true });
  return stop;
}
