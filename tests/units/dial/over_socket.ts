/**
 * One line over a dial unit's local socket, and its answer. The kernel's statement about the peer
 * is part of the call.
 *
 * @module
 */

import type { PeerStream } from "core/ports/sockets.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { type LocalSocketDeps, openLocalSocket } from "units/dial/local_socket.ts";
import { memoryTurnFiles } from "tests/support/turn_files.ts";

/** Sends a line to the socket of mia, whose user has uid 1000; returns the answer's line. */
export async function overSocket(
  of: Partial<LocalSocketDeps> & { readonly uid: number },
  line: unknown,
): Promise<string> {
  const { uid, ...served } = of;
  const input = new TransformStream<Uint8Array, Uint8Array>();
  const output = new TransformStream<Uint8Array, Uint8Array>();
  let serve = (_stream: PeerStream) => {};
  // What a test does not serve fails it when it is used.
  const absent = new Proxy({}, {
    get: () => () => {
      throw new Error("not served here");
    },
  });
  const deps = {
    sockets: {
      serveUnix: (_path: string, _mode: number, handler: typeof serve) => {
        serve = handler;
        return Promise.resolve({ close: () => Promise.resolve() });
      },
    },
    users: { currentUid: () => 1000 },
    mcps: absent,
    questions: absent,
    turns: absent,
    openTurnFiles: memoryTurnFiles(),
    ownerFiles: absent,
    approvals: absent,
    personQuestions: absent,
    replacement: absent,
    agent: "mia",
    isRootless: false,
    log: recordingLog(),
    ...served,
  };
  await openLocalSocket("/run/local.sock", deps as unknown as LocalSocketDeps);
  serve({
    readable: input.readable,
    writable: output.writable,
    close: () => {},
    peer: { uid, gid: uid, pid: 1 },
  });
  const reader = output.readable.getReader();
  await input.writable.getWriter().write(
    new TextEncoder().encode(`${JSON.stringify(line)}\n`),
  );
  const { value } = await reader.read();
  return new TextDecoder().decode(value);
}
