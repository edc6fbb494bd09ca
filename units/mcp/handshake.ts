/**
 * What a client of the 2025 era has agreed with its server, kept so that a server that starts anew
 * can be told the same: the client never learns that it talks to another process. Pure bookkeeping.
 * Clients of the 2026 era send no `initialize`, so there is nothing to keep.
 *
 * @module
 */

import { err, ok, type Result } from "core/result.ts";
import { type Message, type MessageId, printMessage } from "units/mcp/message.ts";
import type { OwnRequests } from "units/mcp/own_requests.ts";
import { isRecord } from "core/text/json_object.ts";

/** The recorded handshake of one client. */
export interface Handshake {
  /** Looks at a message that is being forwarded to the server. */
  onForwarded(message: Message): void;
  /** Looks at an answer of the server. */
  onAnswered(id: MessageId, value: Readonly<Record<string, unknown>>): void;
  /** Whether there was a handshake that succeeded. */
  isAgreed(): boolean;
  /** The `initialize` to send to a new server, once there was an agreement. */
  replay(id: string): Uint8Array<ArrayBuffer>;
  /** Says what is wrong with the new server's answer, or undefined. */
  checkReplay(value: Readonly<Record<string, unknown>>): string | undefined;
  /** The `notifications/initialized` that follows; undefined when the client has not sent it. */
  confirmation(): Uint8Array<ArrayBuffer> | undefined;
}

/** Creates an empty record. */
export function createHandshake(): Handshake {
  let asked: { readonly id: MessageId; readonly params: unknown } | undefined;
  let agreed: { readonly params: unknown; readonly version: unknown } | undefined;
  let isConfirmed = false;
  return {
    onForwarded(message) {
      if (message.kind === "request" && message.method === "initialize") {
        asked = { id: message.id, params: message.params };
      } else if (
        message.kind === "notification" && message.method === "notifications/initialized"
      ) {
        isConfirmed = agreed !== undefined;
      }
    },
    onAnswered(id, value) {
      if (asked === undefined || asked.id !== id) return;
      const { result } = value;
      if (isRecord(result)) {
        agreed = { params: asked.params, version: result["protocolVersion"] };
        isConfirmed = false;
      }
      asked = undefined;
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

/**
 * Tells a new server what its client has agreed with the one before; an error is a sentence part.
 */
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
