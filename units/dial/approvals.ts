/**
 * Calls of this agent that need a human decision. Requests the decision, accepts the first one from
 * any surface, hands it to the waiting caller, and allows one use. Every change is on disk, with
 * its event, before it is reported. A request that cannot be stored is denied.
 *
 * An approval lives no longer than its requester, unless that is part of a turn that continues
 * after a restart (ADR 0036). Then it waits for the same call, which finds it by its digest. It
 * waits at most `returnSeconds` while the turn runs.
 *
 * @module
 */

import { byteLength, cutText } from "core/text/cut_text.ts";
import { defined } from "core/defined.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { APPROVAL_LIMITS } from "core/limits/approval.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { Random } from "core/ports/random.ts";
import { err, ok, type Result } from "core/result.ts";
import {
  applyApproval,
  type Approval,
  createApproval,
  decideApproval,
  deliverApproval,
  endApproval,
  type HumanVerdict,
  isOpen,
} from "core/risk/approval.ts";
import { callDigest, canonicalJson, type ToolCall } from "core/risk/call.ts";
import { approvalUnavailable } from "core/risk/decide.ts";
import {
  type ApprovalEvent,
  askedEvent,
  decidedEvent,
  endedEvent,
} from "units/dial/approval_events.ts";
import type { DialStore, EventDraft } from "units/dial/store.ts";

/** How the wait for a decision ended. */
export type Outcome =
  | { readonly kind: "approved" | "denied"; readonly verdict: HumanVerdict }
  | { readonly kind: "expired" | "superseded" };

/** One open request for an approval, as its caller sees it. */
export interface Question {
  readonly approval: Approval;
  /** Resolves once, with the decision or the reason why there is none. */
  readonly outcome: Promise<Outcome>;
  /** Records that the caller has received the decision. */
  delivered(): Result<void>;
  /** Claims the approval for the call with this digest; succeeds exactly once. */
  use(digest: string): Result<void>;
  /** Withdraws the request. Does nothing once it has ended. */
  withdraw(): void;
  /** Records that the caller has ended; withdraws the request if the caller cannot return. */
  leave(): void;
}

/** A decision as it arrives from a surface. */
export interface Decision extends Omit<HumanVerdict, "at"> {
  readonly id: string;
  readonly digest: string;
}

/** The approvals of one agent. */
export interface Approvals {
  ask(
    call: Omit<ToolCall, "agent">,
    of: { readonly policy: string; readonly isDestructive: boolean },
  ): Promise<Result<Question>>;
  decide(decision: Decision): Result<Approval>;
  /**
   * Open ones, oldest first; then ended ones among the 50 newest, last asked first. The approvals
   * of all gateways are in one order.
   */
  list(): readonly Approval[];
  find(id: string): Approval | undefined;
  hasOpen(): boolean;
  /** Supersedes the open approvals of a turn that has ended. */
  turnEnded(turnId: string): void;
  /** Gives the callers of a turn that continues the whole time to return. */
  turnResumed(turnId: string): void;
  /** Stops all timers; open approvals stay open. */
  close(): void;
}

/** Dependencies of the approvals. */
export interface ApprovalDeps {
  readonly agent: string;
  readonly store: Pick<DialStore, "append" | "approvals" | "runningTurns">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Time for a decision; the default of `APPROVAL_LIMITS` when absent. */
  readonly askSeconds?: number | undefined;
  /** Whether a turn runs that continues after a restart; no turn does when absent. */
  readonly goesOn?: (turnId: string) => boolean;
  /** Called after each write. */
  readonly onStored: () => void;
  /** Called when the first request opens and when the last one ends. */
  readonly onWaiting: (isWaiting: boolean) => void;
}

/** `list` returns the ended ones among this number of newest approvals. */
const ENDED_SHOWN = 50;

/** Opens the approvals; supersedes those that an earlier process left open for no caller. */
export function openApprovals(deps: ApprovalDeps): Approvals {
  const approvals = new AgentApprovals(deps);
  approvals.restore();
  return approvals;
}

interface Waiter {
  readonly outcome: Promise<Outcome>;
  settle(outcome: Outcome): void;
  stopTimer(): void;
}

class AgentApprovals implements Approvals {
  readonly #deps: ApprovalDeps;
  /** Questions without a decision. */
  readonly #waiters = new Map<string, Waiter>();
  /** Approvals whose caller has ended and may return: how to stop their timers. */
  readonly #left = new Map<string, () => void>();

  constructor(deps: ApprovalDeps) {
    this.#deps = deps;
  }

  async ask(...[call, of]: Parameters<Approvals["ask"]>): Promise<Result<Question>> {
    const { agent, store, clock, random, askSeconds } = this.#deps;
    const whole: ToolCall = { ...call, agent };
    const unfit = this.#unfit(whole);
    if (unfit !== undefined) return err(unfit);
    const digest = await callDigest(whole, of.policy);
    const left = this.#leftFor(whole);
    const same = left.find((each) => each.digest === digest);
    if (same !== undefined) return ok(this.#adopt(same));
    // The rules, the pin or the tool's definition changed while no caller waited.
    for (const { id } of left) this.#end(id, "superseded");
    if (this.#waiters.size >= APPROVAL_LIMITS.openMax) return err(tooMany(whole));
    const isOfTurn = call.origin.kind !== "relayed";
    const approval = createApproval(whole, {
      id: random.uuid(),
      digest,
      isDestructive: of.isDestructive,
      now: clock.now(),
      turnId: isOfTurn ? store.runningTurns()[0] : undefined,
      askSeconds,
    });
    const stored = this.#write(approval, askedEvent(approval));
    if (!stored.ok) return stored;
    return ok(this.#question(approval, this.#wait(approval)));
  }

  /** Waits for the decision until the approval expires. */
  #wait({ id, expiresAt }: Approval): Promise<Outcome> {
    const { clock, onWaiting } = this.#deps;
    const { promise: outcome, resolve: settle } = Promise.withResolvers<Outcome>();
    const stopTimer = clock.after(Math.max(0, expiresAt - clock.now()), () => {
      this.#end(id, "expired");
    });
    if (this.#waiters.size === 0) onWaiting(true);
    this.#waiters.set(id, { outcome, settle, stopTimer });
    return outcome;
  }

  /** Open approvals of the same call whose caller has ended. */
  #leftFor(call: ToolCall): readonly Approval[] {
    const turns = this.#deps.store.runningTurns();
    return this.#deps.store.approvals.open().filter((each) =>
      this.#left.has(each.id) && each.turnId !== undefined && turns.includes(each.turnId) &&
      each.mcp === call.mcp && each.tool === call.tool &&
      canonicalJson(each.arguments) === canonicalJson(call.arguments)
    );
  }

  /** Gives an approval to the caller that has returned. */
  #adopt(approval: Approval): Question {
    const { id, verdict } = approval;
    this.#left.get(id)?.();
    this.#left.delete(id);
    this.#deps.log.info("approval found again", { id, state: approval.state });
    const decided: Outcome | undefined = verdict && { kind: verdict.decision, verdict };
    const outcome = decided === undefined
      ? this.#waiters.get(id)?.outcome ?? this.#wait(approval)
      : Promise.resolve(decided);
    return this.#question(approval, outcome);
  }

  decide({ id, ...given }: Decision): Result<Approval> {
    const verdict = bounded(given);
    const { store, clock } = this.#deps;
    const approval = store.approvals.find(id);
    if (approval === undefined) {
      // The surface that sent this decision must learn that it has no effect.
      this.#record({ kind: "approval_ended", payload: { approval_id: id, state: "superseded" } });
      return err(unknownApproval(id));
    }
    const decided = decideApproval(approval, { ...verdict, at: clock.now() });
    if (!decided.ok) return decided;
    const stored = this.#write(decided.value, decidedEvent(decided.value));
    if (!stored.ok) return stored;
    const accepted = decided.value.verdict;
    if (accepted !== undefined) this.#settle(id, { kind: accepted.decision, verdict: accepted });
    return decided;
  }

  list(): readonly Approval[] {
    const { approvals } = this.#deps.store;
    const ended = approvals.newest(ENDED_SHOWN).filter((each) => !isOpen(each));
    return [...approvals.open(), ...ended];
  }

  find(id: string): Approval | undefined {
    return this.#deps.store.approvals.find(id);
  }

  hasOpen(): boolean {
    return this.#waiters.size > 0;
  }

  turnEnded(turnId: string): void {
    for (const { id, turnId: of } of this.#deps.store.approvals.open()) {
      if (of === turnId) this.#end(id, "superseded");
    }
  }

  turnResumed(turnId: string): void {
    for (const { id, turnId: of } of this.#deps.store.approvals.open()) {
      if (of === turnId && this.#left.has(id)) this.#awaitReturn(id);
    }
  }

  /** Takes up what an earlier process left open. */
  restore(): void {
    const now = this.#deps.clock.now();
    for (const approval of this.#deps.store.approvals.open()) {
      const { id, state, expiresAt } = approval;
      if (!this.#mayReturn(approval)) this.#end(id, "superseded");
      else if (state === "asked" && expiresAt <= now) this.#end(id, "expired");
      else {
        if (state === "asked") void this.#wait(approval);
        this.#awaitReturn(id);
      }
    }
  }

  close(): void {
    for (const { stopTimer } of this.#waiters.values()) stopTimer();
    for (const stopTimer of this.#left.values()) stopTimer();
  }

  /** Whether the same call is made again after a restart. */
  #mayReturn({ turnId, origin }: Approval): boolean {
    return turnId !== undefined && origin.kind === "direct" &&
      this.#deps.goesOn?.(turnId) === true;
  }

  #awaitReturn(id: string): void {
    this.#left.get(id)?.();
    const stopTimer = this.#deps.clock.after(APPROVAL_LIMITS.returnSeconds * 1000, () => {
      this.#end(id, "superseded");
    });
    this.#left.set(id, stopTimer);
  }

  #leave(id: string): void {
    const approval = this.find(id);
    if (approval === undefined || !isOpen(approval)) return;
    if (this.#mayReturn(approval)) this.#awaitReturn(id);
    else this.#end(id, "superseded");
  }

  #unfit(call: ToolCall): Refusal | undefined {
    try {
      const size = byteLength(canonicalJson(call.arguments));
      return size <= APPROVAL_LIMITS.argumentsBytesMax
        ? undefined
        : approvalUnavailable(call, `its arguments have ${size} bytes, too long to review`);
    } catch {
      return approvalUnavailable(call, "its arguments are nested too deep to be shown");
    }
  }

  #question(approval: Approval, outcome: Promise<Outcome>): Question {
    const { id } = approval;
    const since = this.#deps.clock.now();
    return {
      approval,
      outcome,
      delivered: () => this.#delivered(id),
      use: (digest) => this.#use(id, digest, since),
      leave: () => this.#leave(id),
      withdraw: () => {
        this.#end(id, "superseded");
      },
    };
  }

  #delivered(id: string): Result<void> {
    const approval = this.find(id);
    if (approval?.state !== "decided") return ok(undefined);
    const delivered = deliverApproval(approval);
    // A denial ends here; an approval has yet to be used.
    const ended = isOpen(delivered) ? [] : [endedEvent(id, "delivered")];
    return this.#write(delivered, ...ended);
  }

  #use(id: string, digest: string, since: number): Result<void> {
    const approval = this.find(id);
    if (approval === undefined) return err(unknownApproval(id));
    const applied = applyApproval(approval, { digest, now: this.#deps.clock.now(), since });
    if (applied.ok) return this.#write(applied.value, endedEvent(id, "applied"));
    // Approved for another call, or too long ago: end it, so that it cannot be used later.
    if (isOpen(approval)) this.#end(id, "superseded");
    return applied;
  }

  #end(id: string, state: "expired" | "superseded"): void {
    this.#left.get(id)?.();
    this.#left.delete(id);
    const approval = this.find(id);
    const ended = approval === undefined ? undefined : endApproval(approval, state);
    if (ended !== undefined) {
      const stored = this.#write(ended, endedEvent(id, state));
      if (!stored.ok) this.#deps.log.error("approval not ended", { code: stored.error.code });
    }
    this.#settle(id, { kind: state });
  }

  #settle(id: string, outcome: Outcome): void {
    const waiter = this.#waiters.get(id);
    if (waiter === undefined) return;
    this.#waiters.delete(id);
    waiter.stopTimer();
    if (this.#waiters.size === 0) this.#deps.onWaiting(false);
    waiter.settle(outcome);
  }

  #write(approval: Approval, ...events: readonly ApprovalEvent[]): Result<void> {
    const { store, clock } = this.#deps;
    const drafts = events.map((event): EventDraft => ({
      ...event,
      at: clock.now(),
      turnId: approval.turnId,
    }));
    const written = store.append(drafts, undefined, { approval });
    if (written.ok) this.#deps.onStored();
    return written;
  }

  #record(event: ApprovalEvent): void {
    const { store, clock, log } = this.#deps;
    const written = store.append([{ ...event, at: clock.now() }]);
    if (written.ok) this.#deps.onStored();
    else log.error("approval event not stored", { code: written.error.code });
  }
}

function tooMany(call: ToolCall): Refusal {
  return approvalUnavailable(call, `${APPROVAL_LIMITS.openMax} questions are open already`);
}

/** Maximum length of the name of the person who decided, in bytes. */
const BY_BYTES_MAX = 512;

/**
 * Cuts the texts of a decision. Surfaces limit them too, but what is stored and reaches the model
 * is limited here.
 */
function bounded(given: Omit<Decision, "id">): Omit<Decision, "id"> {
  const { reasonBytesMax } = APPROVAL_LIMITS;
  return {
    ...given,
    by: cutText(given.by, BY_BYTES_MAX).text,
    ...defined({
      reason: given.reason === undefined ? undefined : cutText(given.reason, reasonBytesMax).text,
    }),
  };
}

function unknownApproval(id: string) {
  return refusal(
    "approval-unknown",
    `Cannot decide about approval ${JSON.stringify(id.slice(0, 64))}: this agent has no ` +
      "approval with that id",
    { hints: ["fleetctl approvals list"] },
  );
}
