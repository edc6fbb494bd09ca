/**
 * Connects the agents' connections with the store: events in, turns out. An event is acknowledged
 * after it is on disk. A turn stays in the store until its agent has it on its own disk.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { AgentFrame } from "core/dial/server_session.ts";
import { CLOSE } from "core/dial/frames.ts";
import { type AcceptEvent, createInboxes } from "core/dial/inbox.ts";
import type { SessionRouter } from "core/dial/serve_session.ts";
import type { DialSession, SessionRegistry } from "core/dial/sessions.ts";
import { errorText, refusal } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import { err, ok, type Result } from "core/result.ts";
import { createKeyedQueue, type KeyedQueue } from "core/concurrency/keyed_queue.ts";
import type { GatewayDecision, StoredApproval } from "gateway/approvals/approval_store.ts";
import type { Messages } from "gateway/dial/messages.ts";
import type { GatewayStore, NewTurn, StoredEvent, Turn } from "gateway/transcript/event_log.ts";
import type { GatewayAnswer, StoredQuestion } from "gateway/questions/question_store.ts";
import type { Hub } from "gateway/transcript/hub.ts";
import type { Metrics } from "gateway/metrics.ts";

/** Dependencies of the router. */
export interface RouterDeps {
  readonly store: GatewayStore;
  readonly hub: Hub;
  readonly registry: SessionRegistry;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Log;
}

/** Routes events and turns. */
export interface Router extends SessionRouter {
  /** Stores a turn and sends it to its agent if connected. */
  queueTurn(turn: NewTurn): Promise<Result<Turn>>;
  cancelTurn(turn: Turn): Promise<Result<Turn>>;
  /** Lets the agent's running turn read a waiting one; refuses if the agent cannot. */
  steerTurn(turn: Turn): Result<void>;
  /** Stores a decision about an approval and sends it to its agent. */
  decideApproval(decision: GatewayDecision): Promise<Result<StoredApproval>>;
  /** Stores an answer to a question and sends it to its agent. */
  answerQuestion(given: GatewayAnswer): Promise<Result<StoredQuestion>>;
  /** Resolves when no work is in flight. */
  settled(): Promise<void>;
}

const AGENT_LOST_TURN = {
  code: "agent-state-lost",
  reason: "The agent no longer has this turn, so its outcome is not known",
};
/** Delay before delivery of a turn is retried after a full disk. */
const DELIVERY_RETRY_MS = 5_000;

/** Creates the router. */
export function createRouter(deps: RouterDeps, messages: Messages): Router {
  return new AgentRouter(deps, messages);
}

class AgentRouter implements Router {
  readonly #deps: RouterDeps;
  readonly #messages: Messages;
  readonly #takeEvent: AcceptEvent;
  /** The unconfirmed turn that was sent to each session. */
  readonly #handed = new WeakMap<DialSession, string>();
  readonly #pending = new Set<Promise<void>>();
  readonly #lanes: KeyedQueue;

  constructor(deps: RouterDeps, messages: Messages) {
    this.#deps = deps;
    this.#messages = messages;
    this.#lanes = createKeyedQueue((agent, thrown) =>
      deps.log.error("gateway fault", { agent, error: errorText(thrown) })
    );
    const { store, metrics, clock, log } = deps;
    this.#takeEvent = createInboxes({
      append: ({ agent, epoch }, events) => store.events.appendFromAgent(agent, epoch, events),
      onStored: ({ stored }) => this.#publish(stored),
      run: (agent, write) => this.#run(agent, write),
      metrics,
      clock,
      log,
    });
  }

  attach(session: DialSession, openTurns: readonly string[] | undefined): void {
    const { registry, hub } = this.#deps;
    registry.put(session);
    hub.publish([{ kind: "presence", agent: session.agent }]);
    this.#run(session.agent, () => this.#reconcile(session, openTurns));
  }

  detach(session: DialSession, code: number): void {
    const { registry, hub, log } = this.#deps;
    if (!registry.remove(session, code)) return;
    log.info("agent disconnected", { agent: session.agent, code });
    hub.publish([{ kind: "presence", agent: session.agent }]);
  }

  receive(session: DialSession, frame: AgentFrame): void {
    const { agent } = session;
    switch (frame.type) {
      case "event":
        return this.#takeEvent(session, frame.event);
      case "preview":
        return this.#deps.hub.publish([{ kind: "preview", agent, event: frame.event }]);
      case "turn_accepted":
        return this.#run(agent, () => this.#confirm(session, frame.turn_id));
      case "message":
        return this.#run(agent, () => this.#relay(session, frame));
      case "agents": {
        const names = [...this.#messages.namesFor(agent)];
        session.send({ type: "agents_result", id: frame.id, names });
        return;
      }
      case "owner_message":
        session.send({
          type: "owner_message_result",
          id: frame.id,
          outcome: "failed",
          ids: [],
          reason: "messages to the owner go through the team-chat gateway",
        });
        return;
      case "owner_file":
        session.send({
          type: "owner_message_result",
          id: frame.id,
          outcome: "failed",
          ids: [],
          reason: "files to the owner go through the team-chat gateway",
        });
        return;
      case "owner_event_taken":
      case "file_taken":
        return;
      case "job_progress":
      case "job_result":
        return this.#deps.metrics.count("skipped");
      case "bye":
        return this.#deps.log.info("agent leaves", { agent, reason: frame.reason.slice(0, 200) });
    }
  }

  async queueTurn(turn: NewTurn): Promise<Result<Turn>> {
    const { store, metrics } = this.#deps;
    const queued = await store.turns.queue(turn);
    if (!queued.ok) return queued;
    if (queued.value.isNew) metrics.count("turns");
    this.#publish(queued.value.stored);
    this.#run(turn.agent, () => this.#deliver(turn.agent));
    return ok(queued.value.turn);
  }

  async cancelTurn(turn: Turn): Promise<Result<Turn>> {
    const answer = Promise.withResolvers<Result<Turn>>();
    // Runs in the agent's queue: a cancel must never overtake its turn.
    this.#run(turn.agent, async () => {
      const done = this.#cancel(turn.turnId).catch((thrown) => err(cancelFailed(thrown)));
      answer.resolve(await done);
    });
    return await answer.promise;
  }

  steerTurn({ agent, turnId, state }: Turn): Result<void> {
    if (state !== "delivered") return err(notWaiting(turnId, state));
    const session = this.#deps.registry.get(agent);
    if (session === undefined) return err(steerRefused(turnId, "its agent is not connected"));
    if (session.capabilities?.includes("steer") !== true) {
      return err(steerRefused(turnId, "its agent's dial unit is of an older version"));
    }
    session.send({ type: "steer", turn_id: turnId });
    return ok(undefined);
  }

  async decideApproval(decision: GatewayDecision): Promise<Result<StoredApproval>> {
    const { store, registry, metrics } = this.#deps;
    const decided = await store.approvals.decide(decision);
    metrics.count("approvals", { result: decided.ok ? decision.decision : decided.error.code });
    const session = registry.get(decision.agent);
    if (decided.ok && session !== undefined) sendDecision(session, decided.value);
    return decided;
  }

  async answerQuestion(given: GatewayAnswer): Promise<Result<StoredQuestion>> {
    const { store, registry, metrics } = this.#deps;
    const answered = await store.questions.answer(given);
    metrics.count("questions", { result: answered.ok ? given.action : answered.error.code });
    const session = registry.get(given.agent);
    if (answered.ok && session !== undefined) sendAnswer(session, answered.value);
    return answered;
  }

  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all([...this.#pending]);
  }

  #run(agent: string, job: () => Promise<void>): void {
    const done = this.#lanes(agent, job);
    this.#pending.add(done);
    done.finally(() => this.#pending.delete(done));
  }

  #publish(stored: readonly StoredEvent[]): void {
    const { hub } = this.#deps;
    hub.publish(stored.map((event) => ({ kind: "event", event })));
    for (const { kind, agent } of stored) {
      if (kind === "agent_state") hub.publish([{ kind: "presence", agent }]);
    }
  }

  /**
   * Sends the oldest waiting turn to the agent. The next one follows when this one is confirmed.
   */
  async #deliver(agent: string): Promise<void> {
    const { registry, store, log, clock } = this.#deps;
    const session = registry.get(agent);
    if (session === undefined) return;
    const turn = await store.turns.nextFor(agent);
    if (turn === undefined || this.#handed.get(session) === turn.turnId) return;
    const marked = await store.turns.markSent(turn.turnId);
    if (!marked.ok) {
      log.error("turn not handed out", { agent, ...faultFields(marked.error) });
      clock.after(DELIVERY_RETRY_MS, () => this.#run(agent, () => this.#deliver(agent)));
      return;
    }
    this.#handed.set(session, turn.turnId);
    const { turnId, text, origin, created } = turn;
    // A client that has only the default conversation runs the turn there.
    const conversation = session.capabilities?.includes("conversations") === true
      ? turn.conversation
      : undefined;
    session.send({
      type: "turn",
      turn_id: turnId,
      text,
      origin,
      created,
      ...defined({ conversation }),
    });
    if (turn.isCancelRequested) session.send({ type: "cancel", turn_id: turnId });
  }

  async #confirm(session: DialSession, turnId: string): Promise<void> {
    const { store, clock, log } = this.#deps;
    const stored = await store.turns.markDelivered(session.agent, turnId, clock.now());
    if (!stored.ok) {
      log.error("turn not confirmed", { agent: session.agent, ...faultFields(stored.error) });
      return session.close(CLOSE.tryAgainLater, "storage");
    }
    this.#publish(stored.value);
    if (this.#handed.get(session) === turnId) this.#handed.delete(session);
    await this.#deliver(session.agent);
  }

  /** Ends turns that the agent no longer has, repeats cancels, and sends the next turn. */
  async #reconcile(
    session: DialSession,
    openTurns: readonly string[] | undefined,
  ): Promise<void> {
    const { store, clock } = this.#deps;
    for (const turn of await store.turns.openOf(session.agent)) {
      const isHeld = openTurns === undefined || openTurns.includes(turn.turnId);
      if (!isHeld) {
        const stored = await store.turns.giveUp(turn.turnId, clock.now(), AGENT_LOST_TURN);
        if (stored.ok) this.#publish(stored.value);
      } else if (turn.isCancelRequested) {
        session.send({ type: "cancel", turn_id: turn.turnId });
      }
    }
    for (const decided of await store.approvals.unconfirmedOf(session.agent)) {
      sendDecision(session, decided);
    }
    for (const answered of await store.questions.unconfirmedOf(session.agent)) {
      sendAnswer(session, answered);
    }
    await this.#deliver(session.agent);
  }

  async #relay(
    session: DialSession,
    frame: Extract<AgentFrame, { type: "message" }>,
  ): Promise<void> {
    const { id } = frame;
    const queue = (turn: NewTurn) => this.queueTurn(turn);
    const result = await this.#messages.send(session.agent, frame, queue);
    const { metrics } = this.#deps;
    metrics.count("messages", { result: result.ok ? "queued" : result.error.code });
    if (result.ok) {
      session.send({ type: "message_result", id, ok: true });
      return;
    }
    const { code, message } = result.error;
    session.send({ type: "message_result", id, ok: false, code, message });
  }

  async #cancel(turnId: string): Promise<Result<Turn>> {
    const { store, clock, registry } = this.#deps;
    const changed = await store.turns.cancel(turnId, clock.now());
    if (!changed.ok) return changed;
    const { turn, stored } = changed.value;
    this.#publish(stored);
    if (turn.state !== "ended") {
      registry.get(turn.agent)?.send({ type: "cancel", turn_id: turnId });
    }
    return ok(turn);
  }
}

function sendDecision(session: DialSession, approval: StoredApproval): void {
  const { id, asked, decision, by, surface, reason } = approval;
  if (decision === undefined) return;
  session.send({
    type: "approval_decision",
    approval_id: id,
    digest: asked.digest,
    decision,
    by: by ?? "a person",
    surface: surface ?? "page",
    ...defined({ reason }),
  });
}

function sendAnswer(session: DialSession, { id, answer }: StoredQuestion): void {
  if (answer === undefined) return;
  const { action, by, surface, values } = answer;
  session.send({
    type: "question_answer",
    question_id: id,
    action,
    by,
    surface,
    ...defined({ values }),
  });
}

function notWaiting(turnId: string, state: Turn["state"]) {
  return refusal(
    "turn-not-waiting",
    `Cannot send turn ${JSON.stringify(turnId)} now: it is ${state}, must wait at its agent`,
  );
}

function steerRefused(turnId: string, why: string) {
  return refusal(
    "steer-unsupported",
    `Cannot send turn ${JSON.stringify(turnId)} now: ${why}; the turn stays queued`,
  );
}

function cancelFailed(thrown: unknown) {
  return refusal("storage-failed", `Cannot cancel the turn: ${errorText(thrown)}`);
}

function faultFields(fault: { readonly code: string; readonly message: string }) {
  return { code: fault.code, error: fault.message };
}
