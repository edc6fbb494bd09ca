/**
 * All answers in progress: one at a time per conversation, in the order of the turns. Each is
 * shown while it is written and delivered when it is complete. Resumes unfinished ones after a
 * restart.
 *
 * @module
 */

import { errorText, type Refusal } from "core/errors.ts";
import { createKeyedQueue } from "core/concurrency/keyed_queue.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { ApprovalRequest } from "teamchat/approval_card.ts";
import { approvalBody, messageBody } from "teamchat/reply/activities.ts";
import { answerText, createShownText, type ShownText } from "teamchat/reply/answer_text.ts";
import { sendCard } from "teamchat/reply/card.ts";
import type { Connector } from "teamchat/reply/connector.ts";
import { deliverAnswer } from "teamchat/reply/deliver.ts";
import { createEarlyPieces } from "teamchat/reply/early.ts";
import { LiveAnswer } from "teamchat/reply/live.ts";
import type { Metrics } from "teamchat/metrics.ts";
import type { TeamchatStore } from "teamchat/store/store.ts";
import type { DeliveryProgress, ReplyContext, Turn } from "teamchat/store/turn.ts";
import type { Closing } from "teamchat/store/turns.ts";

/** Answers in progress. */
export interface Replies {
  /** Call when the agent has started the turn: its answer is shown from now on. */
  begin(turnId: string): void;
  /** Like `begin`, for a turn that an earlier process may have begun. */
  resume(turnId: string): void;
  delta(turnId: string, messageId: string, text: string, offset: number | undefined): void;
  whole(turnId: string, messageId: string): void;
  tool(turnId: string, tool: string): void;
  /** Call when the turn waits for its owner's decision about a call. */
  ask(turnId: string, approval: ApprovalRequest): void;
  /** Call when a program asks the turn's owner something; `text` says what, and where to answer. */
  question(turnId: string, text: string): void;
  /** Call when the turn has ended: its answer is delivered. */
  finish(turnId: string): void;
  /** Drops a turn: what is shown stays, nothing more is sent. */
  drop(turnId: string): void;
  /** Sends a text of the gateway; its outcome is only counted. */
  note(context: ReplyContext, text: string): void;
  /** Starts nothing more; resolves when no request is in flight. */
  close(): Promise<void>;
}

/** Dependencies of replies. */
export interface RepliesDeps {
  readonly store: Pick<TeamchatStore, "turns" | "conversations">;
  readonly connector: Connector;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when the owner pressed "stop". */
  readonly onStopped: (turn: Turn) => void;
  /** Called when the outcome of an answer is known and stored. */
  readonly onDelivery: (turn: Turn, how: Closing) => void;
}

interface Open {
  readonly shown: ShownText;
  readonly live: LiveAnswer;
  readonly ended: Promise<void>;
  readonly end: () => void;
  readonly leave: () => void;
  /** Aborted when the agent no longer belongs to the owner. */
  readonly gone: AbortController;
}

/** Outcome reported to the agent when a turn's owner no longer has this agent. */
const GONE: Closing = { outcome: "cancelled", reason: "owner gone" };
/** Delay before a retry when the outcome could not be stored. */
const STORE_RETRY_MS = 5_000;

/** Creates the replies. */
export function createReplies(deps: RepliesDeps): Replies {
  return new AllReplies(deps);
}

class AllReplies implements Replies {
  readonly #deps: RepliesDeps;
  readonly #open = new Map<string, Open>();
  readonly #early = createEarlyPieces();
  readonly #jobs = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  readonly #lanes: ReturnType<typeof createKeyedQueue>;

  constructor(deps: RepliesDeps) {
    this.#deps = deps;
    this.#lanes = createKeyedQueue((conversation, thrown) =>
      deps.log.error("answer failed", { conversation, error: errorText(thrown) })
    );
    deps.metrics.gauge("replies_open", () => this.#open.size);
  }

  begin(turnId: string): void {
    this.#show(turnId, true);
  }

  resume(turnId: string): void {
    this.#show(turnId, false);
  }

  #show(turnId: string, isFresh: boolean): void {
    if (this.#open.has(turnId) || this.#stop.signal.aborted) return;
    const turn = this.#deps.store.turns.get(turnId);
    if (turn === undefined || turn.state === "closed") return;
    const { connector, clock } = this.#deps;
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
    const { conversation } = turn.context;
    // Own queue: an agent may wait for the outcome of its message in the middle of an answer.
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
    open.shown.whole(messageId, this.#deps.store.turns.get(turnId)?.answer ?? "");
    open.live.wake();
  }

  tool(turnId: string, tool: string): void {
    this.#open.get(turnId)?.live.progress(`Using ${tool.replace(/[^\w .:-]/g, " ").slice(0, 80)}…`);
  }

  ask(turnId: string, approval: ApprovalRequest): void {
    this.#beside(turnId, (context) => ({
      progress: "Waiting for your decision…",
      body: approvalBody(context, approval),
      what: "approval",
    }));
  }

  question(turnId: string, text: string): void {
    this.#beside(turnId, (context) => ({
      progress: "Waiting for your answer…",
      body: messageBody(context, text),
      what: "question",
    }));
  }

  /** Sends a message of the gateway in the middle of an answer, which waits for the owner. */
  #beside(
    turnId: string,
    make: (context: ReplyContext) => {
      readonly progress: string;
      readonly body: Readonly<Record<string, unknown>>;
      readonly what: string;
    },
  ): void {
    const turn = this.#deps.store.turns.get(turnId);
    if (turn === undefined || turn.state === "closed") return;
    const open = this.#open.get(turnId);
    const gone = open?.gone.signal;
    if (gone?.aborted === true) return;
    const { context } = turn;
    const { progress, body, what } = make(context);
    open?.live.progress(progress);
    // Outside the queue: the answer that occupies it waits for this decision.
    const { connector, clock } = this.#deps;
    const stop = this.#stop.signal;
    const sending = sendCard(
      { context, body, what },
      { connector, clock, signal: gone === undefined ? stop : AbortSignal.any([stop, gone]) },
    ).then(() => {});
    this.#jobs.add(sending);
    sending.finally(() => this.#jobs.delete(sending));
  }

  finish(turnId: string): void {
    this.resume(turnId);
    this.#open.get(turnId)?.end();
  }

  drop(turnId: string): void {
    const turn = this.#deps.store.turns.get(turnId);
    if (turn === undefined || turn.state === "closed") return;
    const open = this.#open.get(turnId);
    // It is not in progress: it waits for its agent, or for a start that will not happen.
    if (open === undefined) {
      return this.#run(turn.context.conversation, () => this.#close(turn, GONE));
    }
    open.gone.abort();
    open.leave();
  }

  note(context: ReplyContext, text: string): void {
    this.#run(context.conversation, async () => {
      const { connector } = this.#deps;
      const body = messageBody(context, text);
      await connector.call({ context, method: "POST", body, what: "note" }, this.#stop.signal);
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
      // The stop of the gateway also ends the preview; the next start resumes here.
      const turn = this.#deps.store.turns.get(turnId);
      if (turn?.state === "ended") await this.#deliver(turn, open);
    } finally {
      this.#open.delete(turnId);
    }
  }

  async #deliver(turn: Turn, open: Open): Promise<void> {
    const { connector, clock } = this.#deps;
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
    const turn = this.#deps.store.turns.get(turnId);
    if (turn === undefined) return;
    this.#deps.onStopped(turn);
    await this.#close(turn, { outcome: "cancelled", reason: "stopped by the owner" });
  }

  async #forget(turnId: string): Promise<void> {
    const turn = this.#deps.store.turns.get(turnId);
    if (turn !== undefined) await this.#close(turn, GONE);
  }

  async #close(turn: Turn, how: Closing): Promise<void> {
    const { outcome, reason } = how;
    const { store, metrics, log, clock, onDelivery } = this.#deps;
    const { turnId, agent } = turn;
    metrics.count("deliveries", { outcome });
    log.info("answer delivered", { turn: turnId, agent, outcome, reason });
    if (outcome === "blocked") {
      const blocked = store.conversations.block(turn.context.conversation, reason ?? "blocked");
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
    const kept = await this.#deps.store.turns.setProgress(turnId, progress);
    if (!kept.ok) this.#notStored(kept.error);
  }

  #notStored(fault: Refusal): void {
    const { code, message } = fault;
    this.#deps.log.error("answer not stored", { code, error: message });
  }
}
