/**
 * Records the end of a turn: results for its open calls, what a cut turn lost, and its outcome, in
 * one transaction.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import { cutNote, cutNotice, LOST_TEXT, lostCalls } from "units/dial/cut_turn.ts";
import type { ModelTokens, RunningTurn } from "units/dial/running_spend.ts";
import type { Recorder } from "units/dial/recorder.ts";
import type { TurnOutcome } from "units/dial/runtimes/driver.ts";
import type { DialStore, EventDraft } from "units/dial/store.ts";

/** Maximum length of a reason, which may contain a program's last output, in characters. */
export const REASON_LENGTH_MAX = 4_000;

/** What the end of a turn needs. */
export interface TurnEndDeps {
  readonly store: Pick<DialStore, "progress" | "approvals" | "find" | "usage">;
  readonly recorder: Pick<Recorder, "record">;
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
  /** Ends the open approvals of a turn that does not continue. */
  readonly withdrawApprovals: (turnId: string) => void;
  /** What the running turns have used, as far as a check of the ceilings has reported it. */
  readonly ceilings?: { running(): readonly RunningTurn[] } | undefined;
}

/** Resolves when the end is on disk. */
export async function recordTurnEnd(
  turnId: string,
  { outcome, code, reason: given }: TurnOutcome,
  deps: TurnEndDeps,
): Promise<void> {
  const { store, recorder, clock, log } = deps;
  const reason = given?.slice(0, REASON_LENGTH_MAX);
  const progress = store.progress.of(turnId);
  const isCut = outcome === "interrupted" && !progress.goesOn;
  // First, so that no call is claimed after the note says that it was not made.
  if (isCut) deps.withdrawApprovals(turnId);
  const lost = lostCalls(progress, isCut ? store.approvals.ofTurn(turnId) : []);
  const at = clock.now();
  const draft = (kind: string, payload: EventDraft["payload"]) => ({ at, turnId, kind, payload });
  const open = lost.filter(({ callId }) => !progress.results.has(callId))
    .map(({ callId, state }) => {
      const text = `[${LOST_TEXT[state]}]`;
      return draft("tool_result", { call_id: callId, status: "stopped", text, duration_ms: 0 });
    });
  const notice = isCut ? cutNotice(lost) : undefined;
  const said = notice === undefined ? [] : [draft("notice", { text: notice })];
  const spent = unreported(turnId, deps);
  const used = spent === undefined ? [] : [draft("usage", spentPayload(spent))];
  const end = draft("turn_ended", { outcome, ...defined({ code, reason }) });
  const conversation = store.find(turnId)?.conversation;
  const cut = isCut ? { turnId, conversation, text: cutNote(reason ?? outcome, lost) } : undefined;
  await recorder.record([...open, ...said, ...used, end], {
    move: { turnId, to: "ended", ...defined({ cut }) },
    isControl: true,
  });
  log.info("turn ended", { turn: turnId, outcome, code });
}

/**
 * Returns what a turn has used whose program has not reported it: it ended too early, or a person
 * cancelled the turn while it was not running.
 */
function unreported(
  turnId: string,
  { store, ceilings }: Pick<TurnEndDeps, "store" | "ceilings">,
): RunningTurn | undefined {
  const spent = ceilings?.running().find((of) => of.turnId === turnId);
  if (spent === undefined || store.usage.isNoted(turnId)) return undefined;
  return spent.used.some(hasTokens) ? spent : undefined;
}

function hasTokens({ tokens }: ModelTokens): boolean {
  return Object.values(tokens).some((count) => count > 0);
}

/** Returns what the answers before the cut have used. The call that was cut is not counted. */
function spentPayload({ used }: RunningTurn): EventDraft["payload"] {
  return {
    models: used.filter(hasTokens).map(({ model, tokens }) => ({
      model,
      input_tokens: tokens.input,
      output_tokens: tokens.output,
      cached_read_tokens: tokens.cachedRead,
      cached_write_tokens: tokens.cachedWrite,
    })),
    is_partial: true,
  };
}
