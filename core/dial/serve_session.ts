/**
 * Serves one connection of a dialling agent at its gateway, from the upgrade to its end. It runs
 * the state machine of `server_session.ts`, sends heartbeats and limits the send buffer. The role
 * decides who may register; a refused peer sees only "not authorized".
 *
 * @module
 */

import type { DialCounts } from "core/dial/counts.ts";
import { CLOSE, DIAL_PROTOCOL, type ServerFrame } from "core/dial/frames.ts";
import {
  type AgentFrame,
  type RegisterFrame,
  type ServerEffect,
  type ServerInput,
  type ServerState,
  stepServer,
} from "core/dial/server_session.ts";
import type { DialSession } from "core/dial/sessions.ts";
import { errorText } from "core/errors.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { Random } from "core/ports/random.ts";
import type { FrameConnection } from "core/ports/sockets.ts";

/** Receives sessions and the frames that registered agents send. */
export interface SessionRouter {
  /** Adds an accepted session; `openTurns` lists the turns that the agent states it has open. */
  attach(session: DialSession, openTurns: readonly string[] | undefined): void;
  receive(session: DialSession, frame: AgentFrame): void;
  detach(session: DialSession, code: number): void;
}

/** A role's decision about a register frame. */
export type Admission =
  | {
    readonly accept: true;
    readonly agent: string;
    /** The key that was proven, if any. */
    readonly provenKey: string | undefined;
    /**
     * Returns why the decision no longer applies, or undefined while it does. Called right before
     * the session is registered. A change during the checks would miss this session, because it is
     * not registered yet. A role that polls its sessions needs no `withdrawn`: its next poll ends
     * the session.
     */
    readonly withdrawn?: () => string | undefined;
  }
  | { readonly accept: false; readonly reason: string };

/** The peer's unverified claims; both empty before its register frame. */
export interface RegisterClaim {
  readonly agent: string;
  readonly userEmail: string;
}

/** Dependencies that the connections of one listener share. */
export interface SessionDeps {
  readonly router: SessionRouter;
  /** Returns the last stored sequence number of an outbox. */
  readonly ackedSeq: (agent: string, epoch: string) => number | Promise<number>;
  readonly metrics: DialCounts;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly version: string;
}

/** Dependencies of one connection. */
export interface SessionContext {
  /** Challenge sent first, to a client that may prove a key; undefined for other clients. */
  readonly nonce: string | undefined;
  readonly admit: (frame: RegisterFrame) => Promise<Admission>;
  /** Called on an accepted and on a refused registration, to log it. */
  readonly onAccepted: (agent: string, frame: RegisterFrame) => void;
  readonly onRejected: (claim: RegisterClaim, reason: string) => void;
  /** Called once the connection is registered, or has ended before that. */
  readonly onSettled: () => void;
}

/** Missed pongs that end a connection. */
const MISSED_PONGS_MAX = 2;
/** Milliseconds that a peer has to complete the close handshake. */
const CLOSE_GRACE_MS = 1_000;

/** Serves one connection to its end. */
export function serveSession(
  connection: FrameConnection,
  context: SessionContext,
  deps: SessionDeps,
): void {
  new ServedSession(connection, context, deps).serve();
}

class ServedSession {
  readonly #connection: FrameConnection;
  readonly #context: SessionContext;
  readonly #deps: SessionDeps;
  #state: ServerState = { phase: "waiting" };
  #session: DialSession | undefined;
  #isOver = false;
  #stopGrace = () => {};
  #stopPause = () => {};
  #claim: RegisterClaim = { agent: "", userEmail: "" };

  constructor(connection: FrameConnection, context: SessionContext, deps: SessionDeps) {
    this.#connection = connection;
    this.#context = context;
    this.#deps = deps;
  }

  serve(): void {
    const { clock } = this.#deps;
    const stopHeartbeat = keepHeartbeat(this.#connection, clock);
    const stopTimer = clock.after(DIAL_LIMITS.registerSeconds * 1000, () => {
      this.#feed({ kind: "time-is-up" });
    });
    this.#connection.onMessage((text) => this.#onText(text));
    this.#connection.onClose((code) => {
      stopTimer();
      stopHeartbeat();
      this.#stopGrace();
      this.#stopPause();
      this.#end(code);
    });
    const { nonce } = this.#context;
    if (nonce !== undefined) this.#send({ type: "challenge", nonce });
  }

  /**
   * Handles one message. The listener catches nothing, so an exception here would end all
   * connections.
   */
  #onText(text: string): void {
    try {
      this.#feed({ kind: "text", text });
    } catch (thrown) {
      const { agent } = this.#claim;
      this.#deps.log.error("frame not processed", { agent, error: errorText(thrown) });
      this.#close(CLOSE.tryAgainLater, "storage");
    }
  }

  #feed(input: ServerInput): void {
    const step = stepServer(this.#state, input);
    this.#state = step.state;
    for (const effect of step.effects) this.#act(effect);
  }

  #act(effect: ServerEffect): void {
    switch (effect.kind) {
      case "check":
        this.#claim = { agent: effect.frame.agent, userEmail: effect.frame.user_email };
        this.#check(effect.frame).catch((thrown) => {
          const { agent } = this.#claim;
          this.#deps.log.error("register check failed", { agent, error: errorText(thrown) });
          this.#refuse("check-failed");
        });
        return;
      case "reject":
        return this.#logRejection(effect.reason);
      case "deliver":
        if (this.#session !== undefined) this.#deps.router.receive(this.#session, effect.frame);
        return;
      case "skip":
        return this.#deps.metrics.count("skipped");
      case "close":
        return this.#close(effect.code, effect.reason);
    }
  }

  async #check(frame: RegisterFrame): Promise<void> {
    const { ackedSeq, random } = this.#deps;
    const admission = await this.#context.admit(frame);
    if (!admission.accept) return this.#refuse(admission.reason);
    const { agent, provenKey } = admission;
    const epoch = frame.epoch ?? `plain:${random.uuid()}`;
    const acked = await ackedSeq(agent, epoch);
    // The peer may have disconnected, or sent too much, during the lookup.
    if (this.#isOver || this.#state.phase !== "checking") return;
    const withdrawn = admission.withdrawn?.();
    if (withdrawn !== undefined) return this.#refuse(withdrawn);
    this.#register(frame, { agent, provenKey, epoch, acked });
  }

  #register(
    frame: RegisterFrame,
    as: {
      readonly agent: string;
      readonly provenKey: string | undefined;
      readonly epoch: string;
      readonly acked: number;
    },
  ): void {
    const { metrics, clock, router, version } = this.#deps;
    metrics.count("registers", { result: "accepted", reason: "" });
    this.#context.onAccepted(as.agent, frame);
    this.#connection.setFrameBytesMax(DIAL_LIMITS.frameBytesMax);
    const session: DialSession = {
      agent: as.agent,
      userEmail: frame.user_email,
      host: frame.host?.slice(0, 253),
      version: frame.version?.slice(0, 64),
      protocol: frame.protocol,
      capabilities: frame.capabilities ?? [],
      epoch: as.epoch,
      provenKey: as.provenKey,
      peer: this.#connection.peer,
      since: clock.now(),
      send: (answer) => this.#send(answer),
      pauseReading: (ms) => this.#pauseReading(ms),
      close: (code, reason) => this.#close(code, reason),
      end: (code, reason) => this.#endNow(code, reason),
    };
    this.#session = session;
    this.#context.onSettled();
    this.#send({
      type: "registered",
      version,
      protocol: DIAL_PROTOCOL,
      acked_seq: as.acked,
      heartbeat_seconds: DIAL_LIMITS.heartbeatSeconds,
    });
    router.attach(session, frame.open_turns);
    this.#feed({ kind: "accepted" });
  }

  #refuse(reason: string): void {
    if (this.#state.phase !== "checking") return;
    this.#logRejection(reason);
    this.#feed({ kind: "rejected" });
  }

  #logRejection(reason: string): void {
    this.#deps.metrics.count("registers", { result: "rejected", reason });
    this.#context.onRejected(this.#claim, reason);
  }

  #send(frame: ServerFrame): boolean {
    if (this.#isOver || this.#state.phase === "ended") return false;
    const text = JSON.stringify(frame);
    if (this.#connection.bufferedBytes() + text.length > DIAL_LIMITS.socketBufferBytesMax) {
      this.#deps.log.warning("agent send buffer full", { agent: this.#claim.agent.slice(0, 80) });
      this.#connection.terminate();
      return false;
    }
    this.#connection.send(text);
    return true;
  }

  #pauseReading(ms: number): void {
    if (this.#isOver) return;
    this.#connection.pause();
    this.#stopPause();
    this.#stopPause = this.#deps.clock.after(ms, () => this.#connection.resume());
  }

  #close(code: number, reason: string): void {
    if (this.#isOver) return;
    this.#state = { phase: "ended" };
    this.#connection.close(code, reason);
    // Terminate a peer that does not complete the close handshake.
    this.#stopGrace();
    this.#stopGrace = this.#deps.clock.after(CLOSE_GRACE_MS, () => this.#connection.terminate());
  }

  /** Ends the session at once, whether or not the peer completes the close handshake. */
  #endNow(code: number, reason: string): void {
    if (this.#isOver || this.#session === undefined) return;
    this.#close(code, reason);
    this.#deps.router.detach(this.#session, code);
  }

  #end(code: number): void {
    this.#isOver = true;
    if (this.#state.phase === "waiting") {
      this.#logRejection(code === CLOSE.tooBig ? "first-frame-too-big" : "closed-before-register");
    }
    this.#feed({ kind: "closed" });
    if (this.#session === undefined) this.#context.onSettled();
    else this.#deps.router.detach(this.#session, code);
  }
}

/** Pings at a fixed interval and terminates a connection that missed two pongs. */
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
