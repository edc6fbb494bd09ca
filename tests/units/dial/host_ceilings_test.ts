/**
 * The published ceilings of the host, as a dial unit obeys them: reached, of an ended period, old,
 * damaged, and unreadable.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type HostCeilings as Sums, printHostCeilings } from "core/dial/host_ceilings.ts";
import type { CeilingView } from "core/dial/local_frames.ts";
import { pathsUnder } from "core/paths.ts";
import { openHostCeilings } from "units/dial/host_ceilings.ts";
import { type MemoryHost, memoryHost } from "tests/fakes/host.ts";

const NOON = Date.parse("2026-11-23T12:00:00Z");
const MINUTE = 60_000;
const PATH = pathsUnder("/").hostCeilings;

function view(more: Partial<CeilingView> = {}): CeilingView {
  return {
    period: "day",
    unit: "usd",
    ceiling: 50,
    limit: 50,
    spent: 10,
    is_minimum: false,
    level: "below",
    owner_left: 0,
    unpriced: [],
    since: NOON - 12 * 60 * MINUTE,
    until: NOON + 12 * 60 * MINUTE,
    ...more,
  };
}

async function scene(text: string | undefined, age = 0) {
  const host = memoryHost({ now: NOON + age });
  await host.files.ensureDir("/var/lib/fleetctl");
  if (text !== undefined) await host.files.write(PATH, text);
  return { host, ceilings: openHostCeilings({ ...host, path: PATH }) };
}

const sums = (...ceilings: CeilingView[]): string =>
  printHostCeilings({ summed_at: NOON, ceilings } satisfies Sums);

/** Runs a check to its end; the clock advances while it waits. */
async function checked(host: MemoryHost, run: Promise<{ readonly code: string } | undefined>) {
  let isOver = false;
  const ended = run.finally(() => isOver = true);
  for (let second = 0; second < 70 && !isOver; second++) await host.clock.advance(1_000);
  return (await ended)?.code;
}

const REACHED = view({ level: "reached", spent: 50.5 });
const ROWS: readonly (readonly [string, string | undefined, number, string | undefined])[] = [
  ["no file", undefined, 0, undefined],
  ["spending below the ceiling", sums(view()), 0, undefined],
  ["spending near the ceiling", sums(view({ level: "near", spent: 45 })), 0, undefined],
  ["a reached ceiling", sums(view(), REACHED), 0, "host-ceiling-reached"],
  [
    "a model without a price",
    sums(view({ level: "unpriced", unpriced: ["m"] })),
    0,
    "host-ceiling-unpriced",
  ],
  [
    "a reached ceiling whose period has ended",
    sums(view({ ...REACHED, until: NOON })),
    0,
    undefined,
  ],
  ["sums that are five minutes old", sums(view()), 5 * MINUTE, undefined],
  ["sums that stay old", sums(view()), 6 * MINUTE, "host-ceiling-unchecked"],
  ["a clock that was set back", sums(view()), -10 * MINUTE, "host-ceiling-unchecked"],
  ["an empty file", "", 0, "host-ceiling-unchecked"],
  ["a damaged file", '{"summed_at":1', 0, "host-ceiling-unchecked"],
];

for (const [name, text, age, code] of ROWS) {
  const answer = code === undefined ? "the model may be called" : `the answer is ${code}`;
  Deno.test(`${name}: ${answer}`, async () => {
    const { host, ceilings } = await scene(text, age);
    assert.equal(await checked(host, ceilings.check(new AbortController().signal)), code);
  });
}

Deno.test("the refusal names the spending, the end of the period and a useful amount", async () => {
  const { ceilings } = await scene(sums(REACHED));
  const refused = await ceilings.look();
  assert.equal(
    refused?.message,
    "Cannot use the model: all agents of this host have spent 50.50 USD of the 50.00 USD that " +
      "they may spend this day, must wait until 2026-11-24 00:00 UTC, or an operator must allow " +
      "more",
  );
  assert.deepEqual(refused.hints, ["fleetctl ceilings host allow day=50usd"]);
});

Deno.test("old sums are waited for, as after a boot", async () => {
  const { host, ceilings } = await scene(sums(REACHED), 60 * MINUTE);
  const check = ceilings.check(new AbortController().signal);
  await host.clock.advance(5_000);
  const now = host.clock.now();
  await host.files.write(PATH, printHostCeilings({ summed_at: now, ceilings: [view()] }));
  assert.equal(await checked(host, check), undefined);
});

Deno.test("a cancelled turn does not wait for new sums", async () => {
  const { ceilings } = await scene(sums(view()), 60 * MINUTE);
  const stop = new AbortController();
  const check = ceilings.check(stop.signal);
  stop.abort();
  assert.equal((await check)?.code, "host-ceiling-unchecked");
});

Deno.test("a file that cannot be read stops the agent", async () => {
  const { host, ceilings } = await scene(sums(view()));
  host.files.readText = () => Promise.reject(new Error("input/output error"));
  assert.match((await ceilings.look())?.message ?? "", /input\/output error/);
});
