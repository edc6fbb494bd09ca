/**
 * Keeps a session with the gateway: connects, and reconnects with jitter for as long as the unit
 * runs. `units/dial/gateway_session.ts` handles a single connection.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { decideRetry, type LastTry } from "units/dial/backoff.ts";
import type { PreviewEvent } from "core/dial/event.ts";
import { type ClientFrame, DIAL_SUBPROTOCOL } from "core/dial/frames.ts";
import { errorText } from "core/errors.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import type { Sockets } from "core/ports/sockets.ts";
import { refusalReason } from "core/teamchat/refused_registration.ts";
import { UpgradeFault } from "core/net/upgrade_fault.ts";
import { GatewaySession, type LinkIdentity, type SessionDeps } from "units/dial/gateway_session.ts";

/** The session with the gateway, over any number of connections. */
export interface GatewayLink {
  /** Signals that the outbox has new events. */
  wake(): void;
  /** Sends a preview if someone is watching; drops it otherwise. */
  preview(event: PreviewEvent): void;
  send(frame: ClientFrame): void;
  isRegistered(): boolean;
  /** Drops the connection and reconnects after a delay. */
  reconnect(code: number, reason: string): void;
  /** Waits until the outbox is empty or `graceMs` is over, then sends `bye` and closes. */
  close(graceMs: number): Promise<void>;
}

/** Subprotocols and headers of an upgrade request. */
export interface LinkOpening {
  readonly protocols?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Dependencies of the link. */
export interface LinkDeps extends SessionDeps {
  /** Called before each attempt. When absent, the link offers the dial-in subprotocol. */
  readonly opening?: () => Promise<LinkOpening>;
  readonly sockets: Pick<Sockets, "connectFrames">;
}

const CONNECT_MS = 10_000;
/** A turn may be as long as a request body, and its frame adds an envelope. */
const INBOUND_BYTES_MAX = 2 * DIAL_LIMITS.frameBytesMax;

/** Starts connecting. */
export function startGatewayLink(identity: LinkIdentity, deps: LinkDeps): GatewayLink {
  const { clock, random, log } = deps;
  const stop = new AbortController();
  let session: GatewaySession | undefined;

  async function keepDialing(): Promise<void> {
    let attempt = 0;
    while (!stop.signal.aborted) {
      const last = await dialOnce();
      if (stop.signal.aborted) return;
      const next = decideRetry(last, attempt, random.fraction());
      attempt = next.attempt;
      if (last.refused === undefined) {
        log.info("gateway is not connected", { code: last.code, retry_ms: next.delayMs });
      } else {
        log.warning("gateway refuses", { ...last.refused, retry_ms: next.delayMs });
      }
      await clock.sleep(next.delayMs, stop.signal);
    }
  }

  async function dialOnce(): Promise<LastTry> {
    const url = identity.gatewayUrl.href;
    try {
      const connection = await deps.sockets.connectFrames(url, {
        ...(await deps.opening?.() ?? { protocols: [DIAL_SUBPROTOCOL] }),
        frameBytesMax: INBOUND_BYTES_MAX,
        timeoutMs: CONNECT_MS,
      });
      if (stop.signal.aborted) {
        connection.terminate();
        return { code: 1006, registeredMs: 0 };
      }
      session = new GatewaySession(connection, identity, deps);
      session.open();
      return await session.ended;
    } catch (thrown) {
      if (thrown instanceof UpgradeFault) return refused(thrown, identity);
      log.debug("gateway does not answer", { url, error: errorText(thrown) });
      return { code: 1006, registeredMs: 0 };
    } finally {
      session = undefined;
    }
  }

  const done = keepDialing();
  return {
    wake: () => session?.pump(),
    preview: (event) => session?.preview(event),
    send: (frame) => session?.send(frame),
    isRegistered: () => session?.isRegistered() ?? false,
    reconnect: (code, reason) => session?.close(code, reason),
    close: async (graceMs) => {
      await session?.drained(graceMs);
      stop.abort();
      session?.leave();
      await done;
    },
  };
}

function refused({ status, text }: UpgradeFault, { agent, key }: LinkIdentity): LastTry {
  const reason = refusalReason(text);
  const enroll = `fleetctl agents key enroll ${agent} ${key.publicKey}`;
  const hint = reason === "key-not-enrolled"
    ? { hint: `here, for a first key: fleetctl apply; on the gateway's host: ${enroll}` }
    : {};
  return {
    code: 1006,
    registeredMs: 0,
    refused: { status, ...defined({ reason }), ...hint },
  };
}
