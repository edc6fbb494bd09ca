/**
 * One connection at the dial-in listener, from the upgrade to its end: runs the machine of
 * `core/dial/server_session.ts`, checks the registration, keeps the heartbeat, bounds the buffer.
 *
 * @module
 */

import {
  CLOSE,
  DIAL_PROTOCOL,
  DIAL_SUBPROTOCOL,
  dialProofText,
  type ServerFrame,
} from "core/dial/frames.ts";
import { isPublicKey, toBase64Url, verifyProof } from "core/dial/proof.ts";
import {
  type RegisterFrame,
  type ServerEffect,
  type ServerInput,
  type ServerState,
  stepServer,
} from "core/dial/server_session.ts";
import { errorText } from "core/errors.ts";
import { DIAL_LIMITS } from "core/limits.ts";
import type { Clock, FrameConnection, Log, Random } from "core/ports.ts";
import type { IdentityLedger } from "core/access/identity.ts";
import type { DialKeys } from "gateway/dial/keys.ts";
import { hostnameOf, type IsOwnName } from "core/host_name.ts";
import type { DialSession } from "gateway/dial/registry.ts";
import {
  acceptedLine,
  decideRegister,
  type ProofOutcome,
  rejectedLine,
} from "gateway/dial/register.ts";
import type { Router } from "gateway/dial/router.ts";
import type { EventLog } from "gateway/transcript/event_log.ts";
import type { Metrics } from "gateway/metrics.ts";

/** What connections share. */
export interface ConnectionParts {
  readonly ledger: IdentityLedger;
  readonly isKeyRequired: boolean;
  readonly keys: DialKeys;
  readonly isOwnName: IsOwnName;
  readonly events: EventLog;
  readonly router: Router;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly version: string;
}

/** Bytes of a challenge nonce. */
const NONCE_LENGTH = 32;
/** Missed heartbeats that end a connection. */
const MISSED_PONGS_MAX = 2;
/** A peer whose session was ended has this long to take part in closing. */
const CLOSE_GRACE_MS = 1_000;

/** What is particular to one connection. */
export interface ConnectionSite {
  /** `host:port` as the client dialled it. */
  readonly gateway: string;
  /** Told once the connection is registered or over. */
  readonly onSettled: () => void;
}

/** Serves one connection to its end. */
export function serveConnection(
  connection: FrameConnection,
  site: ConnectionSite,
  parts: ConnectionParts,
): void {
  new DialConnection(connection, site, parts).serve();
}

class DialConnection {
  readonly #connection: FrameConnection;
  readonly #site: ConnectionSite;
  readonly #parts: ConnectionParts;
  /** The challenge; only a client of our subprotocol gets one. */
  readonly #nonce: string | undefined;
  #state: ServerState = { phase: "waiting" };
  #session: DialSession | undefined;
  #isOver = false;
  #stopGrace = () => {};
  /** What the peer said it is, for the log. */
  #claim = { agent: "", userEmail: "" };

  constructor(connection: FrameConnection, site: ConnectionSite, parts: ConnectionParts) {
    this.#connection = connection;
    this.#site = site;
    this.#parts = parts;
    this.#nonce = connection.protocol === DIAL_SUBPROTOCOL
      ? toBase64Url(parts.random.bytes(NONCE_LENGTH))
      : undefined;
  }

  serve(): void {
    const { clock } = this.#parts;
    const stopHeartbeat = keepHeartbeat(this.#connection, clock);
    const stopTimer = clock.after(DIAL_LIMITS.registerSeconds * 1000, () => {
      this.#feed({ kind: "time-is-up" });
    });
    this.#connection.onMessage((text) => this.#feed({ kind: "text", text }));
    this.#connection.onClose((code) => {
      stopTimer();
      stopHeartbeat();
      this.#stopGrace();
      this.#end(code);
    });
    if (this.#nonce !== undefined) this.#send({ type: "challenge", nonce: this.#nonce });
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
          this.#parts.log.error("register check failed", { agent, error: errorText(thrown) });
          this.#refuse("check-failed");
        });
        return;
      case "reject":
        return this.#note(effect.reason);
      case "deliver":
        if (this.#session !== undefined) this.#parts.router.receive(this.#session, effect.frame);
        return;
      case "skip":
        return this.#parts.metrics.count("skipped");
      case "close":
        return this.#close(effect.code, effect.reason);
    }
  }

  async #check(frame: RegisterFrame): Promise<void> {
    const { ledger, keys, isKeyRequired, isOwnName, events, random } = this.#parts;
    const { gateway } = this.#site;
    const decision = decideRegister({
      frame,
      ledger,
      enrolledKeys: await keys.enrolled(frame.agent),
      proof: await judgeProof(frame, { nonce: this.#nonce, gateway, isOwnName }),
      isKeyRequired,
    });
    if (!decision.accept) return this.#refuse(decision.reason);
    if (decision.enroll !== undefined) {
      const enrolled = await keys.enroll(decision.agent, decision.enroll);
      if (!enrolled.ok) return this.#refuse(enrolled.error.code);
      if (!enrolled.value) return this.#refuse("key-not-enrolled");
    }
    const epoch = frame.epoch ?? `plain:${random.uuid()}`;
    const ackedSeq = await events.ackedSeq(decision.agent, epoch);
    if (this.#isOver || this.#state.phase !== "checking") return;
    this.#admit(frame, { agent: decision.agent, epoch, ackedSeq });
  }

  #admit(
    frame: RegisterFrame,
    as: { readonly agent: string; readonly epoch: string; readonly ackedSeq: number },
  ): void {
    const { metrics, log, clock, router, version } = this.#parts;
    const { peer } = this.#connection;
    const isProven = frame.proof !== undefined;
    metrics.count("registers", { result: "accepted", reason: "" });
    log.info(acceptedLine(as.agent, frame.user_email), {
      ...{ peer, host: frame.host, version: frame.version, proven: isProven },
    });
    this.#connection.setFrameBytesMax(DIAL_LIMITS.frameBytesMax);
    const session: DialSession = {
      agent: as.agent,
      host: frame.host?.slice(0, 253),
      version: frame.version?.slice(0, 64),
      protocol: frame.protocol,
      epoch: as.epoch,
      provenKey: isProven ? frame.key : undefined,
      peer,
      since: clock.now(),
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
      acked_seq: as.ackedSeq,
      heartbeat_seconds: DIAL_LIMITS.heartbeatSeconds,
    });
    router.attach(session, frame.open_turns);
    this.#feed({ kind: "accepted" });
  }

  #refuse(reason: string): void {
    if (this.#state.phase !== "checking") return;
    this.#note(reason);
    this.#feed({ kind: "rejected" });
  }

  #note(reason: string): void {
    const { metrics, log } = this.#parts;
    const { agent, userEmail } = this.#claim;
    metrics.count("registers", { result: "rejected", reason });
    log.warning(rejectedLine(agent, userEmail, reason), { peer: this.#connection.peer });
  }

  #send(frame: ServerFrame): boolean {
    if (this.#isOver || this.#state.phase === "ended") return false;
    const text = JSON.stringify(frame);
    if (this.#connection.bufferedBytes() + text.length > DIAL_LIMITS.socketBufferBytesMax) {
      this.#parts.log.warning("agent does not read", { agent: this.#claim.agent });
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
  }

  /** Ends the session here and now, whether or not the peer takes part in closing. */
  #endNow(code: number, reason: string): void {
    if (this.#isOver || this.#session === undefined) return;
    this.#close(code, reason);
    this.#parts.router.detach(this.#session, code);
    this.#stopGrace = this.#parts.clock.after(
      CLOSE_GRACE_MS,
      () => this.#connection.terminate(),
    );
  }

  #end(code: number): void {
    this.#isOver = true;
    if (this.#state.phase === "waiting") {
      this.#note(code === CLOSE.tooBig ? "first-frame-too-big" : "closed-before-register");
    }
    this.#feed({ kind: "closed" });
    if (this.#session === undefined) this.#site.onSettled();
    else this.#parts.router.detach(this.#session, code);
  }
}

async function judgeProof(
  frame: RegisterFrame,
  at: {
    readonly nonce: string | undefined;
    readonly gateway: string;
    readonly isOwnName: IsOwnName;
  },
): Promise<ProofOutcome> {
  if (frame.proof === undefined) return "absent";
  if (at.nonce === undefined) return "no-challenge";
  if (frame.key === undefined || !isPublicKey(frame.key)) return "invalid";
  if (!at.isOwnName(hostnameOf(at.gateway))) return "other-gateway";
  const text = dialProofText({
    nonce: at.nonce,
    agent: frame.agent,
    userEmail: frame.user_email,
    host: frame.host ?? "",
    gateway: at.gateway,
  });
  return await verifyProof(frame.key, text, frame.proof) ? "valid" : "invalid";
}

/** Pings at a fixed pace and drops a connection that stayed silent for two of them. */
function keepHeartbeat(
  connection: FrameConnection,
  clock: Clock,
): () => void {
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
