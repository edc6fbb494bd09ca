/**
 * Connects the agents' connections with the turn store: turns out, events in. An event is
 * acknowledged after it is on disk. A turn stays queued until its agent has it on its own disk.
 *
 * @module
 */

import { CLOSE, type TurnFile } from "core/dial/frames.ts";
import { type AcceptEvent, createInboxes } from "core/dial/inbox.ts";
import type { SessionRouter } from "core/dial/serve_session.ts";
import type { AgentFrame } from "core/dial/server_session.ts";
import type { DialSession, SessionRegistry } from "core/dial/sessions.ts";
import { errorText } from "core/errors.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { AgentName, ObjectId } from "core/names.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { Random } from "core/ports/random.ts";
import { decisionFrame, ownerEventFrame, turnFrame } from "teamchat/agent_frames.ts";
import type { CardDecision } from "teamchat/approval_card.ts";
import { cancelEnded, endFormerOwnersTurn, isOwned } from "teamchat/former_owners.ts";
import type { FileHooks, FileMoves } from "teamchat/files/moves.ts";
import { createOutcomes, type Outcomes } from "teamchat/outcomes.ts";
import { createProactive, type Proactive } from "teamchat/proactive.ts";
import type { Metrics } from "teamchat/metrics.ts";
import type { Replies } from "teamchat/reply/replies.ts";
import type { TeamchatStore } from "teamchat/store/store.ts";
import type { Turn } from "teamchat/store/turn.ts";
import type { TurnEffect } from "teamchat/store/turn_events.ts";
import type { Closing } from "teamchat/store/turns.ts";
import { every, once } from "teamchat/timers.ts";

/** Routes turns and events. */
export interface Agents extends SessionRouter {
  /** Call after a turn was stored for the agent. */
  wake(agent: string): void;
  /** Requests the agent to stop a turn. */
  cancel(turn: Turn): void;
  /** Sends an owner's decision to the owner's agent. Returns false when it is not connected. */
  decide(agent: string, owner: string, decision: CardDecision): boolean;
  /** Reports to the agent the stored outcomes of its answers. */
  report(agent: string): void;
  /** Reports to the agent the outcome of one answer, which is stored. */
  delivered(turn: Turn, how: Closing): void;
  /** Reports to the agent its owner's actions on the answers. */
  sendOwnerEvents(agent: string): void;
  /** Call when a message with files has arrived. */
  fetch(turnId: string, agent: string): void;
  /** Call when the owner has accepted or declined a file. */
  consented(fileId: string): void;
  /** Resumes work that an earlier process left. */
  resume(): void;
  /** Resolves when no file transfer is in flight. */
  close(): Promise<void>;
}

/** Dependencies. */
export interface AgentsDeps {
  readonly store: Pick<
    TeamchatStore,
    | "turns"
    | "absences"
    | "ownerEvents"
    | "sends"
    | "conversations"
    | "turnFiles"
    | "beforeNext"
  >;
  readonly files: (hooks: FileHooks) => FileMoves;
  /** Maps each owner to its agent. */
  readonly owners: ReadonlyMap<ObjectId, AgentName>;
  readonly registry: SessionRegistry;
  readonly replies: Replies;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** A turn that is being sent to the agent's disk. */
interface Handed {
  readonly turnId: string;
  readonly hasFiles: boolean;
  /**
   * Whether no turn was queued behind it at the last check; `wake` updates it for each new turn.
   */
  isLast: boolean;
}

/** Delay before delivery of a turn is retried after a full disk. */
const RETRY_MS = 5_000;
const NO_FILES = "the agent's dial unit is too old to accept files";
const STATE_LOST = "the agent no longer has this turn";
const AWAY = "Your agent is not connected at the moment. The message is stored and will be " +
  "delivered when it reconnects.";

/** Creates it; `close` stops its timers. */
export function createAgents(deps: AgentsDeps): Agents {
  return new ConnectedAgents(deps);
}

class ConnectedAgents implements Agents {
  readonly #deps: AgentsDeps;
  readonly #takeEvent: AcceptEvent;
  readonly #proactive: Proactive;
  readonly #files: FileMoves;
  /** The unconfirmed turn that was sent to each session. */
  readonly #handed = new WeakMap<DialSession, Handed>();
  readonly #outcomes: Outcomes;
  #isClosed = false;
  #stopTimers: (() => void)[] = [];

  constructor(deps: AgentsDeps) {
    this.#deps = deps;
    const { store, metrics, log, clock } = deps;
    this.#outcomes = createOutcomes({
      store,
      registry: deps.registry,
      onRecorded: (recorded, agent) => this.#check(recorded, agent),
    });
    this.#proactive = createProactive({ ...deps, report: (agent) => this.report(agent) });
    this.#files = deps.files({
      onSettled: (turnId) => {
        const turn = store.turns.get(turnId);
        if (turn !== undefined && !this.#isClosed) this.wake(turn.agent);
      },
      onEvent: (agent) => this.sendOwnerEvents(agent),
      placeFor: (agent) => this.#proactive.placeFor(agent),
    });
    this.#takeEvent = createInboxes({
      append: ({ agent, epoch }, events) => store.turns.append(agent, epoch, events, clock.now()),
      onStored: ({ effects }) => {
        // After `close`, the next start resumes from the stored state.
        if (!this.#isClosed) effects.forEach((effect) => this.#apply(effect));
      },
      // Runs with the next write, after this round of the event loop.
      run: (_agent, write) =>
        store.beforeNext(() => {
          if (!this.#isClosed) void write();
        }),
      metrics,
      clock,
      log,
    });
    this.#stopTimers.push(
      every(deps, TEAMCHAT_LIMITS.offlineNoticeMs, () => this.#noticeAbsent()),
      every(deps, TEAMCHAT_LIMITS.sweepMs, () => this.#expire()),
    );
  }

  attach(session: DialSession, openTurns: readonly string[] | undefined): void {
    const { registry, store } = this.#deps;
    const { agent } = session;
    registry.put(session);
    this.#check(store.absences.clear(agent), agent);
    for (const turn of store.turns.heldBy(agent)) {
      const isHeld = openTurns === undefined || openTurns.includes(turn.turnId);
      if (!isHeld) this.#giveUp(turn);
      else {
        if (turn.state === "running") this.#deps.replies.resume(turn.turnId);
        if (turn.isCancelRequested) session.send({ type: "cancel", turn_id: turn.turnId });
      }
    }
    cancelEnded(session, openTurns ?? [], store);
    this.report(agent);
    this.sendOwnerEvents(agent);
    this.wake(agent);
  }

  detach(session: DialSession, code: number): void {
    const { registry, log } = this.#deps;
    if (registry.remove(session, code)) {
      log.info("agent disconnected", { agent: session.agent, code });
    }
  }

  receive(session: DialSession, frame: AgentFrame): void {
    switch (frame.type) {
      case "event":
        return this.#takeEvent(session, frame.event);
      case "preview": {
        const { turn_id: turnId, payload } = frame.event;
        if (this.#deps.store.turns.get(turnId)?.agent !== session.agent) return;
        const { message_id: messageId, text, offset } = payload;
        return this.#deps.replies.delta(turnId, messageId, text, offset);
      }
      case "turn_accepted":
        this.#confirm(session, frame.turn_id).catch((thrown) => {
          this.#deps.log.error("turn not confirmed", { error: errorText(thrown) });
          session.close(CLOSE.tryAgainLater, "storage");
        });
        return;
      case "message":
        session.send({
          type: "message_result",
          id: frame.id,
          ok: false,
          code: "message-not-here",
          message:
            "Cannot send the message: agents write to one another through the webview gateway",
        });
        return;
      case "agents":
        session.send({ type: "agents_result", id: frame.id, names: [] });
        return;
      case "file_taken":
        return this.#files.incoming.confirmed(session, frame);
      case "owner_file":
        return this.#files.outgoing.take(session, frame);
      case "owner_message":
        return this.#proactive.take(session, frame);
      case "owner_event_taken":
        this.#check(this.#deps.store.ownerEvents.confirmed(session.agent, frame.id), session.agent);
        return;
      case "bye":
        return this.#deps.log.info("agent leaves", { agent: session.agent });
    }
  }

  /**
   * Sends the oldest waiting turn to the agent. The next one follows when this one is confirmed.
   */
  wake(agent: string): void {
    const { registry, store, owners } = this.#deps;
    const session = registry.get(agent);
    const next = session === undefined ? undefined : store.turns.nextFor(agent);
    if (session === undefined || next === undefined) return;
    const { turn, isLast, turn: { turnId } } = next;
    // A failed write may have kept this turn open after its owner was removed.
    if (!isOwned(turn, owners)) {
      const isEnded = this.#check(endFormerOwnersTurn(turnId, this.#deps), agent);
      return isEnded ? this.wake(agent) : undefined;
    }
    const handed = this.#handed.get(session);
    if (handed?.turnId === turnId) {
      handed.isLast = isLast;
      return;
    }
    const { incoming } = this.#files;
    const files = store.turnFiles.of(turnId);
    if (files.some(({ state }) => state === "wanted")) return;
    this.#handed.set(session, { turnId, hasFiles: files.length > 0, isLast });
    if (files.length === 0) return void session.send(turnFrame(turn, []));
    if (session.capabilities?.includes("files") === true) {
      return incoming.handOver(session, turnId, (told) => this.#hand(session, turnId, told));
    }
    const unseen = files.map(({ n, ref: { name } }) => ({ n, name, fault: NO_FILES }));
    this.#hand(session, turnId, unseen);
  }

  fetch(turnId: string, agent: string): void {
    this.#files.incoming.fetch(turnId, agent);
  }

  consented(fileId: string): void {
    this.#files.outgoing.answered(fileId);
  }

  resume(): void {
    this.#files.incoming.resume();
    this.#files.outgoing.resume();
  }

  /** Sends a turn. It may have been withdrawn during the file transfer. */
  #hand(session: DialSession, turnId: string, files: readonly TurnFile[]): void {
    const turn = this.#deps.store.turns.get(turnId);
    if (turn?.state !== "queued") {
      this.#handed.delete(session);
      return this.wake(session.agent);
    }
    session.send(turnFrame(turn, files));
  }

  cancel(turn: Turn): void {
    const { store, registry } = this.#deps;
    this.#check(store.turns.requestCancel(turn.turnId), turn.agent);
    registry.get(turn.agent)?.send({ type: "cancel", turn_id: turn.turnId });
  }

  decide(agent: string, owner: string, decision: CardDecision): boolean {
    return this.#deps.registry.get(agent)?.send(decisionFrame(owner, decision)) ?? false;
  }

  report(agent: string): void {
    this.#outcomes.report(agent);
  }

  delivered(turn: Turn, how: Closing): void {
    this.#outcomes.delivered(turn, how);
  }

  sendOwnerEvents(agent: string): void {
    const { registry, store, owners } = this.#deps;
    const session = registry.get(agent);
    if (session === undefined) return;
    for (const event of store.ownerEvents.waiting(agent)) {
      const { owner } = event;
      // A failed write may have kept this event after its owner was removed.
      if (owner !== undefined && !isOwned({ owner, agent }, owners)) continue;
      session.send(ownerEventFrame(event));
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const stop of this.#stopTimers) stop();
    await Promise.all([this.#files.incoming.close(), this.#files.outgoing.close()]);
  }

  async #confirm(session: DialSession, turnId: string): Promise<void> {
    const { store, clock } = this.#deps;
    const stored = await store.turns.markDelivered(session.agent, turnId, clock.now());
    if (this.#isClosed) return;
    if (!this.#check(stored, session.agent)) return session.close(CLOSE.tryAgainLater, "storage");
    const handed = this.#handed.get(session);
    if (handed?.turnId === turnId) this.#handed.delete(session);
    // A repeated confirmation, or a turn sent by an earlier process: it may have files.
    if (handed?.turnId !== turnId || handed.hasFiles) this.#files.incoming.forget(turnId);
    if (handed?.turnId !== turnId || !handed.isLast) this.wake(session.agent);
  }

  #apply(effect: TurnEffect): void {
    const { replies } = this.#deps;
    const { turnId } = effect;
    switch (effect.kind) {
      case "started":
        return replies.begin(turnId);
      case "message":
        return replies.whole(turnId, effect.messageId);
      case "tool":
        return replies.tool(turnId, effect.tool);
      case "asked":
        return replies.ask(turnId, effect.approval);
      case "questioned":
        return replies.question(turnId, effect.text);
      case "ended":
        return this.#ended(turnId);
    }
  }

  #ended(turnId: string): void {
    const { metrics, store, replies } = this.#deps;
    metrics.count("turns", { outcome: store.turns.get(turnId)?.outcome ?? "failed" });
    replies.finish(turnId);
  }

  #giveUp(turn: Turn): void {
    const { store, clock } = this.#deps;
    const how = { outcome: "interrupted", reason: STATE_LOST } as const;
    const ended = store.turns.end(turn.turnId, how, clock.now());
    if (this.#check(ended, turn.agent)) this.#ended(turn.turnId);
  }

  /** Notifies owners whose agents are disconnected, once for each absence. */
  #noticeAbsent(): void {
    const { store, registry, replies, clock } = this.#deps;
    const since = clock.now() - TEAMCHAT_LIMITS.offlineNoticeMs;
    for (const turn of store.turns.waitingSince(since)) {
      if (registry.get(turn.agent) !== undefined) continue;
      if (this.#check(store.absences.note(turn.agent, clock.now()), turn.agent)) {
        replies.note(turn.context, AWAY);
      }
    }
  }

  #expire(): void {
    const { store, clock } = this.#deps;
    for (const turn of store.turns.expired(clock.now())) {
      const ended = store.turns.end(turn.turnId, { outcome: "expired" }, clock.now());
      if (this.#check(ended, turn.agent)) this.#ended(turn.turnId);
    }
    const before = clock.now() - TEAMCHAT_LIMITS.closedTurnsKeptMs;
    store.turns.sweep(before);
    store.ownerEvents.sweep(before);
    this.#files.outgoing.expire();
    for (const turnId of store.turnFiles.loose()) this.#files.incoming.forget(turnId);
  }

  #check(
    stored: { readonly ok: true } | {
      readonly ok: false;
      readonly error: { readonly code: string; readonly message: string };
    },
    agent: string,
  ): boolean {
    if (stored.ok) return true;
    const { code, message } = stored.error;
    this.#deps.log.error("not stored", { agent, code, error: message });
    if (!this.#isClosed) {
      this.#stopTimers.push(once(this.#deps, RETRY_MS, () => this.wake(agent)));
    }
    return false;
  }
}
