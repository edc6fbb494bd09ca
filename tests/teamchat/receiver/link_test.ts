/**
 * A sender that is connected and reads nothing: button presses in the meantime do not fill the
 * memory of the exposed receiver, and accepted messages are handed over to the next sender.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { ByteStream } from "core/ports/sockets.ts";
import { ok } from "core/result.ts";
import { createSenderLink } from "teamchat/receiver/link.ts";
import type { SpoolItem } from "teamchat/receiver/spool.ts";
import { fakeClock, settle } from "tests/fakes/clock.ts";
import { recordingLog } from "tests/fakes/log.ts";

const MIB = 1024 * 1024;

/** A connection whose peer sends nothing, and reads nothing if it hangs. */
function connection(isHung: boolean) {
  const gone = Promise.withResolvers<void>();
  const lines: string[] = [];
  const stream: ByteStream = {
    readable: new ReadableStream({
      start: (controller) => void gone.promise.then(() => controller.close()),
    }),
    writable: new WritableStream({
      write: (bytes) => {
        if (isHung) return gone.promise;
        lines.push(new TextDecoder().decode(bytes));
      },
    }),
    close: () => gone.resolve(),
  };
  return { stream, lines };
}

Deno.test("a sender that hangs gets at most eight mebibytes to read", async () => {
  const clock = fakeClock();
  const removed: SpoolItem[] = [];
  const spool = {
    all: () => [],
    remove: (item: SpoolItem) => {
      removed.push(item);
      return Promise.resolve(ok(undefined));
    },
  };
  const link = createSenderLink({ spool, clock, log: recordingLog() });
  link.attach(connection(true).stream);
  const question = { type: "activity", body: "x".repeat(MIB), received: 1, key: "k" } as const;
  const waiting = Array.from({ length: 7 }, () => link.ask(question, 10_000));
  let answered = 0;
  for (const each of waiting) each.then(() => answered++);
  await settle();
  assert.equal(answered, 0);
  assert.equal(await link.ask(question, 10_000), undefined);
  await clock.advance(10_000);
  assert.equal(answered, 7);
  // All callers have timed out, and still nothing was read.
  assert.equal(await link.ask(question, 10_000), undefined);
  link.offer({ place: 1, agent: "bea", key: "kept", received: 1, body: "{}" });
  const next = connection(false);
  link.attach(next.stream);
  await settle();
  assert.deepEqual(next.lines.map((line) => JSON.parse(line).key), ["kept"]);
  assert.deepEqual(removed, []);
  link.close();
});
