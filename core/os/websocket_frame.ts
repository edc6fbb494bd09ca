/**
 * Writes a short text frame of a `ws` WebSocket in one piece. `ws` writes header and payload
 * separately and corks the socket for that, which costs more than everything else.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import type { WebSocket } from "ws";

/** In characters, of at most three bytes each, so that the length fits in two bytes. */
const SHORT_LENGTH_MAX = 4 * 1024;
/** Final frame, text opcode (RFC 6455, 5.2). */
const FINAL_TEXT = 0x81;
const LENGTH_OF_ONE_BYTE = 126;

/** Private fields of a `ws` socket. */
interface Inner {
  readonly _isServer?: unknown;
  readonly _socket?: Pick<Socket, "write">;
  /** `_state` is 0 when nothing is queued for sending. */
  readonly _sender?: { readonly _state?: unknown; readonly _firstFragment?: unknown };
}

/**
 * Returns a function that sends a short text over an open server socket. It returns false, and
 * sends nothing, when `ws` must send the text itself: for long texts, for a client's frames, and
 * behind queued frames.
 */
export function shortTextSender(socket: WebSocket): (text: string) => boolean {
  const { _isServer, _socket, _sender } = socket as unknown as Inner;
  if (_isServer !== true || _socket === undefined || _sender === undefined) return () => false;
  return (text) => {
    const isFree = _sender._state === 0 && _sender._firstFragment === true;
    if (!isFree || text.length > SHORT_LENGTH_MAX) return false;
    _socket.write(textFrame(text));
    return true;
  };
}

/** Builds a whole frame, unmasked as a server sends it (RFC 6455, 5.1). */
function textFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const start = length < LENGTH_OF_ONE_BYTE ? 2 : 4;
  const frame = Buffer.allocUnsafe(start + length);
  frame[0] = FINAL_TEXT;
  if (start === 2) frame[1] = length;
  else {
    frame[1] = LENGTH_OF_ONE_BYTE;
    frame.writeUInt16BE(length, 2);
  }
  frame.write(text, start);
  return frame;
}
