/**
 * Tests of the outbox arithmetic. The property at the end simulates random cuts, duplicates and
 * late acknowledgements between the two ends.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  acknowledged,
  appendedTo,
  decideResume,
  nextToSend,
  type OutboxWindow,
  sentUpTo,
} from "units/dial/outbox.ts";

const resumes = [
  {
    name: "continues after the events that the gateway has",
    of: [5, 3, 9],
    want: { acked: 5, last: 9 },
  },
  { name: "continues with nothing to send", of: [9, 3, 9], want: { acked: 9, last: 9 } },
  { name: "starts new numbers when the gateway lost events", of: [2, 3, 9], want: undefined },
  { name: "starts new numbers when the outbox lost events", of: [10, 3, 9], want: undefined },
] as const;
for (const { name, of, want } of resumes) {
  Deno.test(`decideResume() ${name}`, () => {
    const [ackedAtGateway, dropped, last] = of;
    const resume = decideResume({ ackedAtGateway, dropped, last });
    assert.deepEqual(
      resume,
      want === undefined
        ? { kind: "renumber" }
        : { kind: "resume", window: { ...want, sent: want.acked } },
    );
  });
}

Deno.test("nextToSend() stays within the window", () => {
  const window = { acked: 0, sent: 0, last: 10 };
  assert.deepEqual(nextToSend(window, 4), { from: 1, to: 4 });
  assert.equal(nextToSend({ ...window, sent: 4 }, 4), undefined);
  assert.deepEqual(nextToSend({ acked: 2, sent: 4, last: 10 }, 4), { from: 5, to: 6 });
  assert.equal(nextToSend({ acked: 10, sent: 10, last: 10 }), undefined);
});

Deno.test("acknowledged() accepts nothing that was not sent", () => {
  const window = { acked: 2, sent: 5, last: 9 };
  assert.deepEqual(acknowledged(window, 6), window);
  assert.deepEqual(acknowledged(window, 2), window);
  assert.equal(acknowledged(window, 5).acked, 5);
});

/** Events that may happen in transit. */
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("append" as const), n: fc.nat(5) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("send" as const), n: fc.nat(5) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("receive" as const), n: fc.nat(5) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("ack" as const), n: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("cut" as const), n: fc.constant(0) }) },
);

Deno.test("outbox and log lose and duplicate nothing under random cuts", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      let window: OutboxWindow = { acked: 0, sent: 0, last: 0 };
      let dropped = 0;
      let wire: number[] = [];
      let acks: number[] = [];
      const log: number[] = [];
      const receive = (seq: number) => {
        const stored = log.length;
        assert.ok(seq <= stored + 1, "the wire skipped a number");
        if (seq === stored + 1) log.push(seq);
        acks.push(log.length);
      };
      const connect = () => {
        wire = [];
        acks = [];
        const resume = decideResume({ ackedAtGateway: log.length, dropped, last: window.last });
        assert.equal(resume.kind, "resume");
        if (resume.kind === "resume") window = resume.window;
        dropped = Math.max(dropped, window.acked);
      };
      const play = (kind: typeof steps[number]["kind"], n: number) => {
        if (kind === "append") window = appendedTo(window, window.last + n);
        if (kind === "cut") connect();
        if (kind === "send") {
          const range = nextToSend(window, 8);
          for (
            let seq = range?.from ?? 1;
            seq <= Math.min(range?.to ?? 0, window.sent + n);
            seq++
          ) {
            wire.push(seq);
          }
          window = sentUpTo(window, wire.at(-1) ?? 0);
        }
        if (kind === "receive") { for (const seq of wire.splice(0, n)) receive(seq); }
        if (kind === "ack") {
          for (const seq of acks.splice(0, n)) window = acknowledged(window, seq);
          dropped = Math.max(dropped, window.acked);
        }
      };
      for (const { kind, n } of steps) play(kind, n);
      connect();
      while (nextToSend(window, 8) !== undefined || wire.length > 0 || acks.length > 0) {
        play("send", 5);
        play("receive", 5);
        play("ack", 5);
      }
      assert.deepEqual(log, Array.from({ length: window.last }, (_, index) => index + 1));
      assert.equal(window.acked, window.last);
    }),
  );
});
