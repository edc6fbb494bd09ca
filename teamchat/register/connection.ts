/**
 * One connection at `/register`, from the upgrade to its end: runs the machine of
 * `core/dial/server_session.ts`, keeps the heartbeat, bounds the buffer. Who it is was decided by
 * the gate; the register frame may not say otherwise.
 *
 * @module
 */

import { DIAL_PROTOCOL, type ServerFrame } from "core/dial/frames.ts";
import {
  type AgentFrame,
  type RegisterFrame,
  type ServerEffect,
  type ServerInput,
  type ServerState,
  stepServer,
} from "core/dial/server_session.ts";
import { DIAL_LIMITS } from "core/limits.ts";
import type { AgentName, ObjectId } from "core/names.ts";
import type { Clock, FrameConnection, Log, Random } from "core/ports.ts";
import type { Metrics } from "teamchat/metrics.ts";
import type { GatePass } from "teamchat/register/gate.ts";
import type { AgentSession } from "teamchat/register/registry.ts";

/** Takes what agents send. */
export interface AgentRouter {
  attach(session: AgentSession, openTurns: readonly string[] | undefined): void;
  receive(session: AgentSession, frame: AgentFrame): void;
  detach(session: AgentSession): void;
}

/** What connections share. */
export interface AgentConnectionParts {
  readonly agents: ReadonlyMap<ObjectId, AgentName>;
  readonly ackedSeq: (agent: string, epoch: string) => number;
  readonly router: AgentRouter;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly version: string;
}

/** What is particular to one connection. */
export interface AgentSite {
  readonly pass: GatePass;
  /** Told once the connection is registered or over. */
  readonly onSettled: () => void;
}

/** Missed heartbeats that end a connection. */
const MISSED_PONGS_MAX = 2;
/** A peer whose session was ended has this long to take part in closing. */
const CLOSE_GRACE_MS = 1_000;

/** Serves one connection to its end. */
export function serveAgent(
  connection: FrameConnection,
  site: AgentSite,
  parts: AgentConnectionParts,
): void {
  new AgentConnection(connection, site, parts).serve();
}

class AgentConnection {
  readonly #connection: FrameConnection;
  readonly #site: AgentSite;
  readonly #parts: AgentConnectionParts;
  #state: ServerState = { phase: "waiting" };
  #session: AgentSession | undefined;
  #isOver = false;
  #stopGrace = () => {};

  constructor(connection: FrameConnection, site: AgentSite, parts: AgentConnectionParts) {
    this.#connection = connection;
    this.#site = site;
    this.#parts = parts;
  }

  serve(): void {
    const stopHeartbeat = keepHeartbeat(this.#connection, this.#parts.clock);
    const stopTimer = this.#parts.clock.after(
      DIAL_LIMITS.registerSeconds * 1000,
      () => this.#feed({ kind: "time-is-up" }),
    );
    this.#connection.onMessage((text) => this.#feed({ kind: "text", text }));
    this.#connection.onClose(() => {
      stopTimer();
      stopHeartbeat();
      this.#stopGrace();
      this.#isOver = true;
      this.#feed({ kind: "closed" });
      if (this.#session === undefined) this.#site.onSettled();
      else this.#parts.router.detach(this.#session);
    });
  }

  #feed(input: ServerInput): void {
    const step = stepServer(this.#state, input);
    this.#state = step.state;
    for (const effect of step.effects) this.#act(effect);
  }

  #act(effect: ServerEffect): void {
    switch (effect.kind) {
      case "check":
        return this.#check(effect.frame);
      case "reject":
        return this.#note(effect.reason, "");
      case "deliver":
        if (this.#session !== undefined) this.#parts.router.receive(this.#session, effect.frame);
        return;
      case "skip":
        return this.#parts.metrics.count("skipped");
      case "close":
        return this.#close(effect.code, effect.reason);
    }
  }

  #check(frame: RegisterFrame): void {
    const { pass } = this.#site;
    const isAllowed = pass.kind === "agent"
      ? frame.agent === pass.agent
      : [...this.#parts.agents.values()].some((name) => name === frame.agent);
    if (!isAllowed) {
      this.#note(pass.kind === "agent" ? "agent-mismatch" : "agent-unknown", frame.agent);
      return this.#feed({ kind: "rejected" });
    }
    this.#admit(frame, pass.kind === "agent" ? pass.key : undefined);
  }

  #admit(frame: RegisterFrame, provenKey: string | undefined): void {
    const { metrics, log, random, router, version, ackedSeq } = this.#parts;
    const { agent } = frame;
    const { peer } = this.#connection;
    const epoch = frame.epoch ?? `plain:${random.uuid()}`;
    metrics.count("registers", { result: "accepted", reason: "" });
    log.info("register accepted", { agent, peer, proven: provenKey !== undefined });
    this.#connection.setFrameBytesMax(DIAL_LIMITS.frameBytesMax);
    const session: AgentSession = {
      ...{ agent, epoch, peer, provenKey },
      send: (answer) => this.#send(answer),
      close: (code, reason) => this.#close(code, reason),
      end: (code, reason) => this.#endNow(code, reason),
    };
    this.#session = session;
    this.#site.onSettled();
    this.#send({
      type: "registered",
      version,
      protocol: DIAL_PROTOCOL,
      acked_seq: ackedSeq(agent, epoch),
      heartbeat_seconds: DIAL_LIMITS.heartbeatSeconds,
    });
    router.attach(session, frame.open_turns);
    this.#feed({ kind: "accepted" });
  }

  #note(reason: string, agent: string): void {
    const { metrics, log } = this.#parts;
    metrics.count("registers", { result: "rejected", reason });
    const { peer } = this.#connection;
    log.warning("register rejected", { agent: agent.slice(0, 64), reason, peer });
  }

  #send(frame: ServerFrame): boolean {
    if (this.#isOver || this.#state.phase === "ended") return false;
    const text = JSON.stringify(frame);
    if (this.#connection.bufferedBytes() + text.length > DIAL_LIMITS.socketBufferBytesMax) {
      this.#parts.log.warning("agent does not read", { agent: this.#session?.agent });
      this.#connection.terminate();
      return false;
    }
    this.#connection.send(text);
    return true;
  }

  #close(code: number, reason: string): void {
    if (this.#isOver) return;
    this.#state = { phase: "ended" };
    this.#connection.close(code, reason);
    // A peer that takes no part in closing keeps no place.
    this.#stopGrace();
    this.#stopGrace = this.#parts.clock.after(CLOSE_GRACE_MS, () => this.#connection.terminate());
  }

  #endNow(code: number, reason: string): void {
    if (this.#isOver || this.#session === undefined) return;
    this.#close(code, reason);
    this.#parts.router.detach(this.#session);
  }
}

/** Pings at a fixed pace and drops a connection that stayed silent for two of them. */
function keepHeartbeat(connection: FrameConnection, clock: Clock): () => void {
  let missed = 0;
  let stop = () => {};
  const beat = () => {
    if (missed >= MISSED_PONGS_MAX) return connection.terminate();
    missed++;
    connection.ping();
    stop = clock.after(DIAL_LIMITS.heartbeatSeconds * 1000, beat);
  };
  connection.onAlive(() => {
    missed = 0;
  });
  stop = clock.after(DIAL_LIMITS.heartbeatSeconds * 1000, beat);
  return () => stop();
}
