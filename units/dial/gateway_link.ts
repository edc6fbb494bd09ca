/**
 * Keeps a session with the gateway: dials, and dials again with jitter for as long as the unit
 * runs. What happens on one connection is in `units/dial/gateway_session.ts`.
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
import {
  GatewaySession,
  type LinkIdentity,
  type SessionParts,
} from "units/dial/gateway_session.ts";

/** The session with the gateway, over any number of connections. */
export interface GatewayLink {
  /** Tells that the outbox holds more. */
  wake(): void;
  /** Shows a preview if somebody is there; it is dropped otherwise. */
  preview(event: PreviewEvent): void;
  send(frame: ClientFrame): void;
  isRegistered(): boolean;
  /** Drops the connection, to dial again after a while. */
  reconnect(code: number, reason: string): void;
  /** Waits until the outbox is empty or `graceMs` is over, says good-bye and closes. */
  close(graceMs: number): Promise<void>;
}

/** What an upgrade carries. */
export interface LinkOpening {
  readonly protocols?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the link is made of. */
export interface LinkParts extends SessionParts {
  /** Asked before each try; offers the subprotocol of dial-in when absent. */
  readonly opening?: () => Promise<LinkOpening>;
  readonly sockets: Pick<Sockets, "connectFrames">;
}

const CONNECT_MS = 10_000;
/** A turn may be a request body long, and its frame adds an envelope. */
const INBOUND_BYTES_MAX = 2 * DIAL_LIMITS.frameBytesMax;

/** Starts to dial. */
export function startGatewayLink(identity: LinkIdentity, parts: LinkParts): GatewayLink {
  const { clock, random, log } = parts;
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
      const connection = await parts.sockets.connectFrames(url, {
        ...(await parts.opening?.() ?? { protocols: [DIAL_SUBPROTOCOL] }),
        frameBytesMax: INBOUND_BYTES_MAX,
        timeoutMs: CONNECT_MS,
      });
      if (stop.signal.aborted) {
        connection.terminate();
        return { code: 1006, registeredMs: 0 };
      }
      session = new GatewaySession(connection, identity, parts);
      session.open();
      return await session.ended;
    } catch (thrown) {
      if (thrown instanceof UpgradeFault) return refused(thrown);
      log.debug("gateway does not answer", { url, error: errorText(thrown) });
      return { code: 1006, registeredMs: 0 };
    } finally {
      session = undefined;
    }
  }

  function refused({ status, text }: UpgradeFault): LastTry {
    const reason = refusalReason(text);
    const enroll = `fleetctl agents key enroll ${identity.agent} ${identity.key.publicKey}`;
    const hint = reason === "key-not-enrolled"
      ? { hint: `here, for a first key: fleetctl apply; on the gateway's host: ${enroll}` }
      : {};
    return {
      code: 1006,
      registeredMs: 0,
      refused: { status, ...defined({ reason }), ...hint },
    };
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
