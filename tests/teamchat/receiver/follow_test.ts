/**
 * A compromised receiver that sends questions without an end: the sender reads them only as fast as
 * it can answer.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { ByteStream } from "core/ports/sockets.ts";
import { followReceiver } from "teamchat/handover/follow.ts";
import { LINE_BYTES_MAX } from "teamchat/handover/frames.ts";
import { messageOf } from "tests/teamchat/fixture.ts";
import { fakeClock, settle } from "tests/fakes/clock.ts";
import { recordingLog } from "tests/fakes/log.ts";

const COUNT = 60;

Deno.test("requests of a receiver that never reads answers wait unread", async () => {
  const body = JSON.stringify(messageOf({ serviceUrl: "https://smba.test/" }, {
    text: "x".repeat(LINE_BYTES_MAX / 2),
  }));
  const line = new TextEncoder().encode(
    `${JSON.stringify({ type: "activity", n: 1, body, received: 1, key: "k" })}\n`,
  );
  let asked = 0;
  let answered = 0;
  const gone = Promise.withResolvers<void>();
  const stream: ByteStream = {
    readable: new ReadableStream({
      pull: async (controller) => {
        if (asked++ < COUNT) return controller.enqueue(line.slice());
        await gone.promise;
        controller.close();
      },
    }, { highWaterMark: 0 }),
    writable: new WritableStream({ write: () => void answered++ }),
    close: () => gone.resolve(),
  };
  const free: (() => void)[] = [];
  const clock = fakeClock();
  const following = followReceiver({
    path: "/r/x.sock",
    clock,
    log: recordingLog(),
    metrics: () => "",
    sockets: { connectUnix: () => Promise.resolve(stream) },
    take: async () => {
      await new Promise<void>((resolve) => free.push(resolve));
      return { status: 202, headers: [], body: null };
    },
    health: () => ({ status: "ok", problems: [] }),
  });
  await settle();
  assert.ok(asked > 8 && asked < 24, `${asked} are being answered`);
  while (answered < COUNT) {
    free.splice(0).forEach((resolve) => resolve());
    await settle();
  }
  await following.close();
});
