/**
 * One connection to the gateway. Registers with a proof, sends the outbox in order within its
 * window, and ends when the peer is silent for too long. The pure part is in
 * `units/dial/client_session.ts`.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { LastTry } from "units/dial/backoff.ts";
import {
  type ClientEffect,
  type ClientInput,
  type ClientState,
  type InboundFrame,
  stepClient,
} from "units/dial/client_session.ts";
import type { PreviewEvent } from "core/dial/event.ts";
import {
  AGENT_STORAGE_FULL,
  type ClientFrame,
  CLOSE,
  DIAL_PROTOCOL,
  dialProofText,
} from "core/dial/frames.ts";
import {
  acknowledged,
  appendedTo,
  decideResume,
  nextToSend,
  type OutboxWindow,
  sentUpTo,
} from "units/dial/outbox.ts";
import { type DialKey, signProof } from "core/dial/proof.ts";
import { errorText } from "core/errors.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { Random } from "core/ports/random.ts";
import type { FrameConnection } from "core/ports/sockets.ts";
import type { DialStore } from "units/dial/store.ts";

/** Identity of the connecting agent or host, and the gateway to connect to. */
export interface LinkIdentity {
  readonly agent: string;
  readonly userEmail: string;
  readonly host: string;
  readonly version: string;
  readonly gatewayUrl: URL;
  readonly key: DialKey;
  /** Capabilities that it offers to the gateway. */
  readonly capabilities?: readonly string[];
}

/** The part of a store that a session uses. */
export type Outbox = Pick<
  DialStore,
  "epoch" | "last" | "dropped" | "openTurns" | "read" | "acknowledge" | "renumber"
>;

const AGENT_CAPABILITIES: readonly string[] = [
  "turns",
  "messages",
  "files",
  "conversations",
  "steer",
];

/** Dependencies of a session. */
export interface SessionDeps {
  readonly store: Outbox;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Receives the frames that the gateway sends after the registration. */
  readonly onFrame: (frame: InboundFrame) => void;
  readonly onRegistered: () => void;
  readonly onAcknowledged: () => void;
}

/** Delay before a full socket is checked again. */
const FULL_SOCKET_MS = 10;
/** Previews are sent only while the socket buffer is nearly empty. */
const PREVIEW_BUFFER_BYTES = 64 * 1024;
/** Log fields for the operator: the code and a hint. */
const STORAGE_FULL = {
  code: AGENT_STORAGE_FULL,
  hint: "on the gateway's host: fleetctl gc --events 90d",
};
const LEAVING = "the dial unit stops";

/** One connection, from its opening to its end. */
export class GatewaySession {
  /** Resolves once, with how the connection ended. */
  readonly ended: Promise<LastTry>;
  readonly #connection: FrameConnection;
  readonly #identity: LinkIdentity;
  readonly #deps: SessionDeps;
  readonly #end: (last: LastTry) => void;
  #state: ClientState = "opening";
  #window: OutboxWindow = { acked: 0, sent: 0, last: 0 };
  #registeredAt: number | undefined;
  #retryAfterMs: number | undefined;
  #cancelPump: (() => void) | undefined;
  #onDrained = () => {};

  constructor(connection: FrameConnection, identity: LinkIdentity, deps: SessionDeps) {
    this.#connection = connection;
    this.#identity = identity;
    this.#deps = deps;
    const { promise, resolve } = Promise.withResolvers<LastTry>();
    this.ended = promise;
    this.#end = resolve;
  }

  /** Starts listening. Call it before any `await`, so that no message is lost. */
  open(): void {
    const connection = this.#connection;
    const { clock } = this.#deps;
    const stopTimer = clock.after(DIAL_LIMITS.registerSeconds * 2_000, () => {
      this.#feed({ kind: "time-is-up" });
    });
    const stopWatch = watchSilence(connection, clock);
    // Keep this first: once a handler is set, the connection delivers the messages that arrived
    // meanwhile.
    this.#feed({ kind: "opened", protocol: connection.protocol });
    connection.onMessage((text) => this.#feed({ kind: "text", text }));
    connection.onClose((code, reason) => {
      stopTimer();
      stopWatch();
      this.#closed(code, reason);
    });
  }

  isRegistered(): boolean {
    return this.#state === "registered";
  }

  /** Sends a frame; drops it unless the session is registered. */
  send(frame: ClientFrame): void {
    if (this.isRegistered()) this.#write(frame);
  }

  /** Sends a preview unless durable events are waiting. */
  preview(event: PreviewEvent): void {
    if (!this.isRegistered() || this.#window.sent < this.#deps.store.last()) return;
    if (this.#connection.bufferedBytes() > PREVIEW_BUFFER_BYTES) return;
    this.#write({ type: "preview", event });
  }

  /** Resolves when everything is acknowledged, the connection has ended, or `graceMs` is over. */
  drained(graceMs: number): Promise<void> {
    const { store, clock } = this.#deps;
    if (!this.isRegistered() || store.dropped() === store.last()) return Promise.resolve();
    return new Promise<void>((resolve) => {
      const cancel = clock.after(graceMs, resolve);
      this.#onDrained = () => {
        cancel();
        resolve();
      };
    });
  }

  close(code: number, reason: string): void {
    this.#connection.close(code, reason);
  }

  /** Sends `bye` and closes. */
  leave(): void {
    this.send({ type: "bye", reason: LEAVING });
    this.close(CLOSE.goingAway, LEAVING);
  }

  /** Sends the events that the window and the socket's buffer allow. */
  pump(): void {
    if (!this.isRegistered()) return;
    const { store, clock, log } = this.#deps;
    this.#cancelPump?.();
    this.#cancelPump = undefined;
    this.#window = appendedTo(this.#window, store.last());
    for (
      let range = nextToSend(this.#window);
      range !== undefined;
      range = nextToSend(this.#window)
    ) {
      if (this.#connection.bufferedBytes() > DIAL_LIMITS.socketBufferBytesMax) {
        this.#cancelPump = clock.after(FULL_SOCKET_MS, () => this.pump());
        return;
      }
      // One at a time: events may be large, and the socket may be full after the first.
      const [event] = store.read(range.from, range.from);
      if (event === undefined) {
        log.error("outbox event missing", { seq: range.from });
        return this.close(CLOSE.tryAgainLater, "outbox");
      }
      this.#write({ type: "event", event });
      this.#window = sentUpTo(this.#window, event.seq);
    }
  }

  #write(frame: ClientFrame): void {
    this.#connection.send(JSON.stringify(frame));
  }

  #feed(input: ClientInput): void {
    const step = stepClient(this.#state, input);
    this.#state = step.state;
    for (const effect of step.effects) this.#act(effect);
  }

  #act(effect: ClientEffect): void {
    const { log } = this.#deps;
    switch (effect.kind) {
      case "sign":
        this.#sign(effect.nonce).catch((thrown) => {
          log.error("challenge not signed", { error: errorText(thrown) });
          this.close(CLOSE.policyViolation, "no proof");
        });
        return;
      case "register":
        return this.#register(effect.proof);
      case "resume":
        return this.#resume(effect.ackedSeq, effect.version);
      case "deliver":
        return this.#take(effect.frame);
      case "skip":
        return log.debug("frame of an unknown type", { type: effect.type });
      case "close":
        log.warning("connection given up", { reason: effect.reason });
        return this.close(effect.code, effect.reason);
    }
  }

  async #sign(nonce: string): Promise<void> {
    const { agent, userEmail, host, gatewayUrl, key } = this.#identity;
    const text = dialProofText({ nonce, agent, userEmail, host, gateway: gatewayUrl.host });
    this.#feed({ kind: "signed", key: key.publicKey, proof: await signProof(key, text) });
  }

  #register(proof: { readonly key: string; readonly proof: string } | undefined): void {
    const { agent, userEmail, host, version } = this.#identity;
    const { store } = this.#deps;
    this.#write({
      type: "register",
      user_email: userEmail,
      agent,
      host,
      version,
      protocol: DIAL_PROTOCOL,
      capabilities: [...this.#identity.capabilities ?? AGENT_CAPABILITIES],
      epoch: store.epoch(),
      last_seq: store.last(),
      open_turns: [...store.openTurns()],
      ...proof,
    });
  }

  #resume(ackedSeq: number, version: string): void {
    const { store, clock, log } = this.#deps;
    const plan = decideResume({
      ackedAtGateway: ackedSeq,
      dropped: store.dropped(),
      last: store.last(),
    });
    if (plan.kind === "renumber") return this.#renumber(ackedSeq);
    this.#registeredAt = clock.monotonic();
    this.#window = plan.window;
    store.acknowledge(ackedSeq);
    log.info("gateway connected", { gateway: this.#identity.gatewayUrl.host, version });
    this.#deps.onAcknowledged();
    this.#deps.onRegistered();
    this.pump();
  }

  /** Handles a side that lost its state: the waiting events are sent under new numbers. */
  #renumber(ackedSeq: number): void {
    const { store, random, log } = this.#deps;
    log.warning("gateway and outbox do not agree, renumbering", { acked: ackedSeq });
    const renumbered = store.renumber(random.uuid());
    if (renumbered.ok) this.#retryAfterMs = 0;
    else log.error("outbox not renumbered", { code: renumbered.error.code });
    this.close(CLOSE.normal, "renumbering");
  }

  #take(frame: InboundFrame): void {
    if (frame.type === "closing") this.#retryAfterMs = frame.retry_after_ms;
    if (frame.type !== "ack") return this.#deps.onFrame(frame);
    const { store } = this.#deps;
    this.#window = acknowledged(this.#window, frame.seq);
    store.acknowledge(this.#window.acked);
    this.#deps.onAcknowledged();
    if (store.dropped() === store.last()) this.#onDrained();
    this.pump();
  }

  #closed(code: number, reason: string): void {
    const { clock, log } = this.#deps;
    this.#cancelPump?.();
    this.#feed({ kind: "closed" });
    this.#onDrained();
    if (code === CLOSE.policyViolation) log.warning("gateway refuses", { reason });
    if (code === CLOSE.tryAgainLater && reason === AGENT_STORAGE_FULL) {
      log.warning("gateway storage for this agent is full, events wait here", STORAGE_FULL);
    }
    const since = this.#registeredAt;
    const retryAfterMs = this.#retryAfterMs;
    this.#end({
      code,
      registeredMs: since === undefined ? 0 : clock.monotonic() - since,
      ...defined({ retryAfterMs }),
    });
  }
}

/** Drops a connection that was silent for too long. */
function watchSilence(connection: FrameConnection, clock: Clock): () => void {
  const limitMs = DIAL_LIMITS.silenceSecondsMax * 1000;
  let heardAt = clock.monotonic();
  let cancel = () => {};
  const check = () => {
    const silentMs = clock.monotonic() - heardAt;
    if (silentMs >= limitMs) return connection.terminate();
    cancel = clock.after(limitMs - silentMs, check);
  };
  connection.onAlive(() => {
    heardAt = clock.monotonic();
  });
  check();
  return () => cancel();
}
