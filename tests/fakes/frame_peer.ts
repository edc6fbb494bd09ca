/**
 * The peer of a WebSocket connection, controlled by a test.
 *
 * @module
 */

import type { FrameConnection } from "core/ports/sockets.ts";

/**
 * A connection whose peer is the test. Records the frames that it was sent and how it was closed.
 */
export function fakePeer() {
  const sent: { readonly type: string }[] = [];
  const ends: (number | "terminated")[] = [];
  const flow: string[] = [];
  let onText = (_text: string) => {};
  let onGone = (_code: number, _reason: string) => {};
  const connection: FrameConnection = {
    protocol: "",
    peer: "10.0.0.7:1",
    bufferedBytes: () => 0,
    send: (text) => void sent.push(JSON.parse(text)),
    close: (code) => void ends.push(code),
    terminate: () => {
      ends.push("terminated");
      onGone(1006, "");
    },
    ping: () => {},
    pause: () => void flow.push("pause"),
    resume: () => void flow.push("resume"),
    onMessage: (handler) => onText = handler,
    onAlive: () => {},
    onClose: (handler) => onGone = handler,
    setFrameBytesMax: () => {},
  };
  return {
    connection,
    sent,
    ends,
    flow,
    say: (frame: unknown) => onText(JSON.stringify(frame)),
    leave: (code: number) => onGone(code, ""),
  };
}
