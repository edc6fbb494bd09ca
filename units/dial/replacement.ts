/**
 * Prepares this unit for its replacement by a new version. While root intends to restart it, it
 * starts no further turn, so that no turn is cut. The intent ends after a minute, unless root
 * repeats it.
 *
 * @module
 */

import type { LocalAnswer, LocalRequest } from "core/dial/local_frames.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import { type PeerRights, wrongAgent } from "units/dial/local_approvals.ts";
import type { Recorder } from "units/dial/recorder.ts";
import type { DialStore } from "units/dial/store.ts";

/** How long this unit starts no turn after a request. Root asks again every ten seconds. */
const HOLD_MS = 60_000;
/** The same while root restarts only the socket of an MCP. */
const BRIEF_HOLD_MS = 15_000;

/** A connection with its turns. */
interface Turns {
  readonly store: Pick<DialStore, "runningTurns" | "progress">;
  readonly recorder: Pick<Recorder, "record">;
}

/** Dependencies of the replacement. */
export interface ReplacementDeps {
  readonly connections: readonly Turns[];
  readonly clock: Pick<Clock, "after" | "now">;
  readonly log: Log;
  /** Runs one job at a time, across all turns. */
  readonly exclusive: (job: () => Promise<void>) => Promise<void>;
  /** Whether a program waits for a person, in a turn or outside one. */
  readonly isWaiting: () => boolean;
}

/** The replacement of this unit. */
export interface Replacement {
  /** Returns whether a turn runs; starts no further one. */
  prepare(
    of: { readonly isDue: boolean; readonly isBrief: boolean },
  ): Promise<{ readonly isBusy: boolean }>;
  /** Lets turns start again. */
  release(): void;
}

/** A time in which no turn starts. */
interface Hold {
  /** No turn runs, and none starts. */
  isHeld: boolean;
  readonly end: () => void;
  stopTimer: () => void;
}

/** Creates the replacement of one unit. */
export function createReplacement(deps: ReplacementDeps): Replacement {
  const { clock, log, exclusive, isWaiting, connections } = deps;
  let hold: Hold | undefined;
  const release = () => {
    hold?.stopTimer();
    hold?.end();
    hold = undefined;
  };
  const renew = (ms: number) => {
    if (hold === undefined) {
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      const made: Hold = hold = { isHeld: false, end, stopTimer: () => {} };
      // Takes the place of a turn: it begins when the running one ends, before the next one.
      void exclusive(async () => {
        made.isHeld = true;
        await ended;
      });
    }
    hold.stopTimer();
    hold.stopTimer = clock.after(ms, release);
    return hold;
  };
  return {
    release,
    prepare: async ({ isDue, isBrief }) => {
      const { isHeld: wasHeld } = renew(isBrief ? BRIEF_HOLD_MS : HOLD_MS);
      // The queue starts a job in the next microtask if no other one runs.
      if (!wasHeld) await Promise.resolve();
      const isBusy = hold?.isHeld !== true || isWaiting();
      log.info("replacement requested", { isDue, isBusy });
      if (isDue) await Promise.all(connections.map((turns) => tellOwners(turns, clock.now())));
      return { isBusy };
    },
  };
}

/** Tells the owners of running turns that the unit is about to restart. */
async function tellOwners({ store, recorder }: Turns, at: number): Promise<void> {
  const notices = store.runningTurns().map((turnId) => {
    const { goesOn } = store.progress.of(turnId);
    const end = goesOn ? "The turn continues." : "This runtime cannot continue the turn.";
    const text = `The agent is replaced by its new version during this turn. ${end}`;
    return { at, turnId, kind: "notice", payload: { text } };
  });
  if (notices.length > 0) await recorder.record(notices, { isControl: true });
}

/** Answers root's request. */
export async function answerReplacement(
  request: Extract<LocalRequest, { readonly type: "replace" }>,
  replacement: Pick<Replacement, "prepare">,
  rights: PeerRights,
): Promise<LocalAnswer> {
  const { agent } = rights;
  if (request.agent !== agent) return errorLine(wrongAgent(request.agent, agent));
  if (!rights.mayDecide) return errorLine(notYours(agent));
  const { is_due: isDue, is_brief: isBrief } = request;
  const { isBusy } = await replacement.prepare({ isDue, isBrief });
  return { type: "replace_result", is_busy: isBusy };
}

function errorLine({ code, message }: Refusal): LocalAnswer {
  return { type: "error", code, message };
}

function notYours(agent: string): Refusal {
  return refusal(
    "replace-not-yours",
    `Cannot replace agent "${agent}" by its new version: the caller is the agent itself, must be ` +
      "root",
    { kind: "denied" },
  );
}
