/**
 * Short frames that are written in one piece, read by the platform's own client, which shares no
 * code with the sender: lengths around each limit, in order among long ones.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { FrameConnection } from "core/ports/sockets.ts";
import { systemProcesses } from "core/os/processes.ts";
import { systemSockets } from "core/os/sockets.ts";
import { recordingLog } from "tests/fakes/log.ts";

const LENGTHS = [0, 1, 124, 125, 126, 127, 200, 4_095, 4_096, 4_097, 65_535, 70_000];
const TEXTS = ["x", "ü", "€", "😀", '"\n'].flatMap((mark) =>
  LENGTHS.map((length) => mark.repeat(Math.ceil(length / mark.length)))
);

Deno.test("texts of every length arrive whole and in order", async () => {
  const sockets = systemSockets({ processes: systemProcesses(), log: recordingLog() });
  const opened = Promise.withResolvers<FrameConnection>();
  const listener = await sockets.serveFrames({ hostname: "127.0.0.1", port: 0 }, {
    frameBytesMax: 1024 * 1024,
    handler: () => new Response(null, { status: 404 }),
    upgrade: () => ({ accept: true, onOpen: (connection) => opened.resolve(connection) }),
  });
  const client = new WebSocket(`ws://127.0.0.1:${listener.address.port}/`);
  const received: string[] = [];
  const all = Promise.withResolvers<void>();
  client.onmessage = ({ data }) => {
    received.push(String(data));
    if (received.length === TEXTS.length) all.resolve();
  };
  const closed = new Promise<number>((resolve) => {
    client.onclose = ({ code }) => resolve(code);
  });
  const connection = await opened.promise;
  for (const text of TEXTS) connection.send(text);
  await Promise.race([all.promise, closed]);
  assert.equal(received.length, TEXTS.length);
  TEXTS.forEach((text, at) => assert.ok(received[at] === text, `text ${at}`));
  // A short frame right before the close is not lost.
  const last = new Promise<string>((resolve) => {
    client.onmessage = ({ data }) => resolve(String(data));
  });
  connection.send("last");
  connection.close(1000, "done");
  assert.equal(await last, "last");
  assert.equal(await closed, 1000);
  connection.send("after the end");
  await listener.close();
});
