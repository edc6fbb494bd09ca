/**
 * All answers on their way: one at a time in a conversation, in the order of the turns; each shown
 * while it is written and delivered when it is whole. Picks up after a restart what was left.
 *
 * @module
 */

import { errorText, type Refusal } from "core/errors.ts";
import { createLanes } from "core/concurrency/lanes.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { AskedApproval } from "teamchat/approval_card.ts";
import { approvalBody, messageBody } from "teamchat/reply/activities.ts";
import { answerText, createShownText, type ShownText } from "teamchat/reply/answer_text.ts";
import { sendCard } from "teamchat/reply/card.ts";
import type { Connector } from "teamchat/reply/connector.ts";
import { deliverAnswer } from "teamchat/reply/deliver.ts";
import { createEarlyPieces } from "teamchat/reply/early.ts";
import { LiveAnswer } from "teamchat/reply/live.ts";
import type { Metrics } from "teamchat/metrics.ts";
import type { TeamchatStore } from "teamchat/store/store.ts";
import type { DeliveryProgress, Site, Turn } from "teamchat/store/turn.ts";
import type { Closing } from "teamchat/store/turns.ts";

/** Answers on their way. */
export interface Replies {
  /** The agent began the turn: its answer is shown from now on. */
  begin(turnId: string): void;
  /** The same for a turn that may have been begun by an earlier process. */
  resume(turnId: string): void;
  delta(turnId: string, messageId: string, text: string, offset: number | undefined): void;
  whole(turnId: string, messageId: string): void;
  tool(turnId: string, tool: string): void;
  /** The turn waits for its owner's decision about a call. */
  ask(turnId: string, approval: AskedApproval): void;
  /** The turn has ended: its answer is delivered. */
  finish(turnId: string): void;
  /** Nobody is to hear of the turn any more: what is shown stays, nothing follows. */
  drop(turnId: string): void;
  /** Sends a line of the gateway's own; what becomes of it is only counted. */
  note(site: Site, text: string): void;
  /** Begins nothing more; resolves when no request is under way. */
  close(): Promise<void>;
}

/** What replies are made of. */
export interface RepliesParts {
  readonly store: Pick<TeamchatStore, "turns" | "conversations">;
  readonly connector: Connector;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Log;
  /** The owner pressed "stop". */
  readonly onStopped: (turn: Turn) => void;
  /** What became of an answer is known and stored. */
  readonly onDelivery: (turn: Turn, how: Closing) => void;
}

interface Open {
  readonly shown: ShownText;
  readonly live: LiveAnswer;
  readonly ended: Promise<void>;
  readonly end: () => void;
  readonly leave: () => void;
  /** Its owner is not the agent's any more. */
  readonly gone: AbortController;
}

/** What the agent is told of a turn whose owner is not its own any more. */
const GONE: Closing = { outcome: "cancelled", reason: "owner gone" };
/** When the disk did not take the outcome, the next try. */
const STORE_RETRY_MS = 5_000;

/** Makes the replies. */
export function createReplies(parts: RepliesParts): Replies {
  return new AllReplies(parts);
}

class AllReplies implements Replies {
  readonly #parts: RepliesParts;
  readonly #open = new Map<string, Open>();
  readonly #early = createEarlyPieces();
  readonly #jobs = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  readonly #lanes: ReturnType<typeof createLanes>;

  constructor(parts: RepliesParts) {
    this.#parts = parts;
    this.#lanes = createLanes((conversation, thrown) =>
      parts.log.error("answer failed", { conversation, error: errorText(thrown) })
    );
    parts.metrics.gauge("replies_open", () => this.#open.size);
  }

  begin(turnId: string): void {
    this.#show(turnId, true);
  }

  resume(turnId: string): void {
    this.#show(turnId, false);
  }

  #show(turnId: string, isFresh: boolean): void {
    if (this.#open.has(turnId) || this.#stop.signal.aborted) return;
    const turn = this.#parts.store.turns.get(turnId);
    if (turn === undefined || turn.state === "closed") return;
    const { connector, clock } = this.#parts;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const shown = createShownText(turn.answer);
    for (const piece of this.#early.take(turnId)) shown.delta(...piece);
    const keep = (progress: Partial<DeliveryProgress>) => this.#keep(turnId, progress);
    const live = new LiveAnswer({ turn, isFresh, shown, connector, clock, keep });
    const end = () => {
      live.end();
      resolve();
    };
    const leave = () => {
      live.leave();
      resolve();
    };
    this.#open.set(turnId, { shown, live, ended, end, leave, gone: new AbortController() });
    const { conversation } = turn.site;
    // Beside the answers: the agent may wait, in the midst of one, for what becomes of its message.
    const lane = turn.sendId === undefined ? conversation : `${conversation}|sent`;
    this.#run(lane, () => this.#serve(turnId));
  }

  delta(turnId: string, messageId: string, text: string, offset: number | undefined): void {
    const open = this.#open.get(turnId);
    if (open === undefined) return this.#early.keep(turnId, [messageId, text, offset]);
    open.shown.delta(messageId, text, offset);
    open.live.wake();
  }

  whole(turnId: string, messageId: string): void {
    const open = this.#open.get(turnId);
    if (open === undefined) return;
    open.shown.whole(messageId, this.#parts.store.turns.get(turnId)?.answer ?? "");
    open.live.wake();
  }

  tool(turnId: string, tool: string): void {
    this.#open.get(turnId)?.live.progress(`Using ${tool.replace(/[^\w .:-]/g, " ").slice(0, 80)}…`);
  }

  ask(turnId: string, approval: AskedApproval): void {
    const turn = this.#parts.store.turns.get(turnId);
    if (turn === undefined || turn.state === "closed") return;
    const open = this.#open.get(turnId);
    const gone = open?.gone.signal;
    if (gone?.aborted === true) return;
    open?.live.progress("Waiting for your decision…");
    const { site } = turn;
    // Beside the lane: the answer that holds it waits for this very question.
    const { connector, clock } = this.#parts;
    const stop = this.#stop.signal;
    const asked = sendCard(
      { site, body: approvalBody(site, approval), what: "approval" },
      { connector, clock, signal: gone === undefined ? stop : AbortSignal.any([stop, gone]) },
    ).then(() => {});
    this.#jobs.add(asked);
    asked.finally(() => this.#jobs.delete(asked));
  }

  finish(turnId: string): void {
    this.resume(turnId);
    this.#open.get(turnId)?.end();
  }

  drop(turnId: string): void {
    const turn = this.#parts.store.turns.get(turnId);
    if (turn === undefined || turn.state === "closed") return;
    const open = this.#open.get(turnId);
    // Nothing of it is under way: it waits for its agent, or for a start that does not come.
    if (open === undefined) return this.#run(turn.site.conversation, () => this.#close(turn, GONE));
    open.gone.abort();
    open.leave();
  }

  note(site: Site, text: string): void {
    this.#run(site.conversation, async () => {
      const { connector } = this.#parts;
      const body = messageBody(site, text);
      await connector.call({ site, method: "POST", body, what: "note" }, this.#stop.signal);
    });
  }

  async close(): Promise<void> {
    this.#stop.abort();
    for (const { leave } of this.#open.values()) leave();
    while (this.#jobs.size > 0) await Promise.all([...this.#jobs]);
  }

  #run(conversation: string, job: () => Promise<void>): void {
    const done = this.#lanes(conversation, job);
    this.#jobs.add(done);
    done.finally(() => this.#jobs.delete(done));
  }

  /** Shows the answer, then delivers it. */
  async #serve(turnId: string): Promise<void> {
    const open = this.#open.get(turnId);
    if (open === undefined) return;
    try {
      await open.live.run();
      if (open.gone.signal.aborted) return await this.#forget(turnId);
      if (open.live.mode === "stopped") return await this.#stopped(turnId);
      await open.ended;
      // A stop of the gateway ends the showing as well; then the next start goes on from here.
      const turn = this.#parts.store.turns.get(turnId);
      if (turn?.state === "ended") await this.#deliver(turn, open);
    } finally {
      this.#open.delete(turnId);
    }
  }

  async #deliver(turn: Turn, open: Open): Promise<void> {
    const { connector, clock } = this.#parts;
    const delivered = await deliverAnswer({
      turn,
      connector,
      clock,
      text: answerText(turn),
      mode: open.live.mode,
      keep: (progress) => this.#keep(turn.turnId, progress),
      signal: AbortSignal.any([this.#stop.signal, open.gone.signal]),
    });
    if (open.gone.signal.aborted) return await this.#forget(turn.turnId);
    if (delivered === "stopping") return;
    await this.#close(turn, delivered);
  }

  async #stopped(turnId: string): Promise<void> {
    const turn = this.#parts.store.turns.get(turnId);
    if (turn === undefined) return;
    this.#parts.onStopped(turn);
    await this.#close(turn, { outcome: "cancelled", reason: "stopped by the owner" });
  }

  async #forget(turnId: string): Promise<void> {
    const turn = this.#parts.store.turns.get(turnId);
    if (turn !== undefined) await this.#close(turn, GONE);
  }

  async #close(turn: Turn, how: Closing): Promise<void> {
    const { outcome, reason } = how;
    const { store, metrics, log, clock, onDelivery } = this.#parts;
    const { turnId, agent } = turn;
    metrics.count("deliveries", { outcome });
    log.info("answer delivered", { turn: turnId, agent, outcome, reason });
    if (outcome === "blocked") {
      const blocked = store.conversations.block(turn.site.conversation, reason ?? "blocked");
      if (!blocked.ok) this.#notStored(blocked.error);
    }
    for (;;) {
      const closed = await store.turns.close(turnId, how, clock.now());
      if (closed.ok) return onDelivery(turn, how);
      this.#notStored(closed.error);
      if (this.#stop.signal.aborted) return;
      await clock.sleep(STORE_RETRY_MS, this.#stop.signal);
    }
  }

  async #keep(turnId: string, progress: Partial<DeliveryProgress>): Promise<void> {
    const kept = await this.#parts.store.turns.setProgress(turnId, progress);
    if (!kept.ok) this.#notStored(kept.error);
  }

  #notStored(fault: Refusal): void {
    const { code, message } = fault;
    this.#parts.log.error("answer not stored", { code, error: message });
  }
}
