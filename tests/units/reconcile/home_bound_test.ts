/**
 * The time limit for one home, on a clock that the test controls.
 *
 * @module
 */

import assert from "node:assert/strict";
import { fakeClock, settle } from "tests/fakes/clock.ts";
import { fakeProcesses } from "tests/fakes/processes.ts";
import { openHomeHelper } from "units/reconcile/home_helper.ts";

const ADA = { name: "ada", uid: 1001, gid: 1001, home: "/home/ada" };
const BOUND_MS = 700;

/** A helper that answers each request when the test tells it to. */
function scene() {
  const clock = fakeClock();
  const answers: (() => Promise<void>)[] = [];
  let kills = 0;
  const processes = fakeProcesses({
    "/usr/bin/perl": async ({ stdin, print, killed }) => {
      killed.addEventListener("abort", () => kills++);
      for await (const _ of stdin) answers.push(() => print("ok 600 4\nmine"));
    },
  });
  const homes = openHomeHelper({ processes, clock }, BOUND_MS);
  const files = homes.of(ADA, "/home/ada");
  return {
    clock,
    kills: () => kills,
    answer: () => answers.shift()?.(),
    read: () => files.read("/home/ada/.runtime-b/agent/mcp.json"),
    close: () => homes.close(),
  };
}

Deno.test("an answer counts although this process reads it late", async () => {
  const { clock, answer, read, kills, close } = scene();
  const reading = read();
  await settle();
  await clock.advance(BOUND_MS);
  await answer();
  assert.equal((await reading)?.text, "mine");
  await clock.advance(BOUND_MS);
  assert.equal(kills(), 0);
  await close();
});

Deno.test("the helper of a home without an answer is killed, and then always fails", async () => {
  const { clock, read, kills, close } = scene();
  const late = /the home took longer than 700 ms/;
  const reading = assert.rejects(read(), late);
  await settle();
  await clock.advance(BOUND_MS + 1_000);
  await reading;
  assert.equal(kills(), 1);
  await assert.rejects(read(), late);
  const closing = close();
  await clock.advance(BOUND_MS);
  await closing;
});
