/**
 * Short text frames of a WebSocket of `ws`, written in one piece. `ws` writes the two bytes
 * before a frame and the frame by themselves, corks the socket for that, and takes longer over
 * it than over all the rest.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import type { WebSocket } from "ws";

/** Characters; at most three bytes each, so that the length fits two bytes. */
const SHORT_LENGTH_MAX = 4 * 1024;
/** A text, and nothing follows (RFC 6455, 5.2). */
const FINAL_TEXT = 0x81;
const LENGTH_OF_ONE_BYTE = 126;

/** What of a socket of `ws` is not public. */
interface Inner {
  readonly _isServer?: unknown;
  readonly _socket?: Pick<Socket, "write">;
  /** `_state` is 0 where nothing waits to be sent. */
  readonly _sender?: { readonly _state?: unknown; readonly _firstFragment?: unknown };
}

/**
 * Makes a function that sends a short text over an open socket of a server; it returns false,
 * having sent nothing, for what `ws` has to send itself: long texts, a client's frames,
 * behind something that waits.
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

/** A whole frame, unmasked as a server sends it (RFC 6455, 5.1). */
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
