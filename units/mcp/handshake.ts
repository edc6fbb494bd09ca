/**
 * Records the handshake of a 2025-era client with its server and replays it to a restarted server.
 * The client does not notice that the process has changed. Pure bookkeeping. Clients of the 2026
 * era send no `initialize`, so nothing is recorded for them.
 *
 * @module
 */

import { err, ok, type Result } from "core/result.ts";
import { type Message, type MessageId, printMessage } from "units/mcp/message.ts";
import type { OwnRequests } from "units/mcp/own_requests.ts";
import { isRecord } from "core/text/json_object.ts";

/** The recorded handshake of one client. */
export interface Handshake {
  /** Records a message that is forwarded to the server. */
  onForwarded(message: Message): void;
  /** Records an answer of the server. */
  onAnswered(id: MessageId, value: Readonly<Record<string, unknown>>): void;
  /** Whether a handshake has succeeded. */
  isAgreed(): boolean;
  /** Returns the `initialize` for a new server, after a successful handshake. */
  replay(id: string): Uint8Array<ArrayBuffer>;
  /** Returns what is wrong with the new server's answer, or undefined. */
  checkReplay(value: Readonly<Record<string, unknown>>): string | undefined;
  /** The `notifications/initialized` that follows; undefined when the client has not sent it. */
  confirmation(): Uint8Array<ArrayBuffer> | undefined;
}

/** Creates an empty record. */
export function createHandshake(): Handshake {
  let requested: { readonly id: MessageId; readonly params: unknown } | undefined;
  let agreed: { readonly params: unknown; readonly version: unknown } | undefined;
  let isConfirmed = false;
  return {
    onForwarded(message) {
      if (message.kind === "request" && message.method === "initialize") {
        requested = { id: message.id, params: message.params };
      } else if (
        message.kind === "notification" && message.method === "notifications/initialized"
      ) {
        isConfirmed = agreed !== undefined;
      }
    },
    onAnswered(id, value) {
      if (requested === undefined || requested.id !== id) return;
      const { result } = value;
      if (isRecord(result)) {
        agreed = { params: requested.params, version: result["protocolVersion"] };
        isConfirmed = false;
      }
      requested = undefined;
    },
    isAgreed: () => agreed !== undefined,
    replay: (id) =>
      printMessage({ jsonrpc: "2.0", id, method: "initialize", params: agreed?.params }),
    checkReplay(value) {
      const { result } = value;
      if (!isRecord(result)) return "it refused the handshake that it had accepted before";
      return result["protocolVersion"] === agreed?.version
        ? undefined
        : "it now speaks another protocol version than before";
    },
    confirmation: () =>
      isConfirmed
        ? printMessage({ jsonrpc: "2.0", method: "notifications/initialized" })
        : undefined,
  };
}

/** Replays the client's handshake to a new server; an error is a sentence part. */
export async function replayHandshake(
  handshake: Handshake,
  own: Pick<OwnRequests, "ask">,
  send: (bytes: Uint8Array<ArrayBuffer>) => Promise<void>,
): Promise<Result<void, string>> {
  if (!handshake.isAgreed()) return ok(undefined);
  const answer = await own.ask((id) => handshake.replay(id), send);
  if (!answer.ok) return answer;
  const wrong = handshake.checkReplay(answer.value);
  if (wrong !== undefined) return err(wrong);
  const confirmation = handshake.confirmation();
  if (confirmation !== undefined) await send(confirmation);
  return ok(undefined);
}
