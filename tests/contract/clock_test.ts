/**
 * One suite for `Clock`, run against the system clock and the fake. The test advances the fake; the
 * real clock runs by itself. Spans are a few milliseconds.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Clock } from "core/ports/clock.ts";
import { systemClock } from "core/os/clock.ts";
import { fakeClock } from "tests/fakes/clock.ts";

interface Subject {
  readonly name: string;
  open(): { readonly clock: Clock; readonly pass: (ms: number) => Promise<void> };
}

const SUBJECTS: readonly Subject[] = [
  {
    name: "systemClock",
    open: () => ({ clock: systemClock(), pass: () => Promise.resolve() }),
  },
  {
    name: "fakeClock",
    open: () => {
      const clock = fakeClock();
      return { clock, pass: (ms) => clock.advance(ms) };
    },
  },
];

function contract(
  name: string,
  run: (clock: Clock, pass: (ms: number) => Promise<void>) => Promise<void>,
): void {
  for (const subject of SUBJECTS) {
    Deno.test({
      name: `${subject.name}() ${name}`,
      sanitizeOps: true,
      sanitizeResources: true,
      fn: () => {
        const { clock, pass } = subject.open();
        return run(clock, pass);
      },
    });
  }
}

contract("shows a time of this century and never goes back", async (clock, pass) => {
  const before = clock.monotonic();
  assert.ok(clock.now() >= Date.UTC(2026, 0, 1));
  const slept = clock.sleep(5);
  await pass(5);
  await slept;
  assert.ok(clock.monotonic() >= before + 4);
});

contract("runs timers in the order of their time", async (clock, pass) => {
  const order: string[] = [];
  const last = Promise.withResolvers<void>();
  clock.after(20, () => {
    order.push("late");
    last.resolve();
  });
  clock.after(1, () => order.push("soon"));
  clock.after(1, () => order.push("soon, second"));
  await pass(20);
  await last.promise;
  assert.deepEqual(order, ["soon", "soon, second", "late"]);
});

contract("does not run a cancelled timer", async (clock, pass) => {
  let ran = false;
  const cancel = clock.after(1, () => ran = true);
  cancel();
  cancel();
  const slept = clock.sleep(5);
  await pass(5);
  await slept;
  assert.equal(ran, false);
});

contract("wakes a sleeper early when the signal fires", async (clock) => {
  const abort = new AbortController();
  const slept = clock.sleep(3_600_000, abort.signal);
  abort.abort();
  await slept;
  await clock.sleep(3_600_000, AbortSignal.abort());
});

contract("takes a delay longer than one timer can hold", async (clock, pass) => {
  let ran = false;
  const cancel = clock.after(2 ** 40, () => ran = true);
  const slept = clock.sleep(5);
  await pass(5);
  await slept;
  assert.equal(ran, false);
  cancel();
});

Deno.test("fakeClock.advance() runs timers that timers set", async () => {
  const clock = fakeClock();
  const seen: number[] = [];
  const tick = () => {
    seen.push(clock.monotonic());
    if (seen.length < 3) clock.after(10, tick);
  };
  clock.after(10, tick);
  await clock.advance(25);
  assert.deepEqual(seen, [10, 20]);
  assert.equal(clock.pending(), 1);
  assert.equal(await clock.advanceToNext(), true);
  assert.deepEqual(seen, [10, 20, 30]);
  assert.equal(await clock.advanceToNext(), false);
});

Deno.test("fakeClock.setNow() moves the wall clock and no timer", async () => {
  const clock = fakeClock();
  let ran = false;
  clock.after(1_000, () => ran = true);
  clock.setNow(clock.now() + 3_600_000);
  await clock.advance(999);
  assert.equal(ran, false);
  await clock.advance(1);
  assert.equal(ran, true);
});
