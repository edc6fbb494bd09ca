/**
 * Turns at the lock of a host: which uid is next, and the state that a dead process leaves.
 *
 * @module
 */

import assert from "node:assert/strict";
import { takeVerbLock } from "cli/verb_lock.ts";
import { denoFiles } from "core/os/files.ts";
import type { Files, Lock } from "core/ports/files.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { memoryFiles } from "tests/fakes/files.ts";
import { seededRandom } from "tests/fakes/random.ts";

const LOCKS = "/locks";
const ROOT = 0;
const BOB = 1_003;
const EVE = 1_004;

/** Verbs at one lock; `order` contains the uids in the order of their turns. */
function watch(files: Files, locks = LOCKS) {
  const clock = fakeClock();
  const random = seededRandom(1);
  const order: number[] = [];
  let waiting = 0;
  const take = (uid: number) =>
    takeVerbLock({ files, clock, random }, { locks }, { uid, onWait: () => waiting++ });
  /** Requests the lock, and releases it as soon as it is granted. */
  const ask = async (uid: number) => {
    const before = waiting;
    const done = take(uid).then((lock) => {
      order.push(uid);
      return lock.release();
    });
    while (waiting === before) await tick();
    // Make the next request come later.
    await turn();
    return { done };
  };
  const tick = () => new Promise((resolve) => setTimeout(resolve));
  const turn = async () => {
    for (let round = 0; round < 20; round++) await tick();
    await clock.advance(60);
  };
  /** Releases the lock and lets the others have their turns. */
  const goOn = async (held: Lock, asked: readonly { readonly done: Promise<void> }[]) => {
    await held.release();
    let isOver = false;
    void Promise.all(asked.map(({ done }) => done)).then(() => isOver = true);
    while (!isOver) await turn();
  };
  return { take, ask, goOn, order };
}

Deno.test("takeVerbLock() acquires a free lock without a queue", async () => {
  const files = memoryFiles();
  const { take } = watch(files);
  const lock = await take(BOB);
  await lock.release();
  assert.deepEqual(files.paths(), ["/locks/verb.lock"]);
});

for (const kind of ["memory", "disk"] as const) {
  Deno.test(`takeVerbLock() serves uids in turn, in ${kind}`, async () => {
    const folder = kind === "disk" ? await Deno.makeTempDir() : LOCKS;
    const files = kind === "disk" ? denoFiles() : memoryFiles();
    const { take, ask, goOn, order } = watch(files, folder);
    const held = await take(BOB);
    const asked = [];
    for (const uid of [BOB, BOB, BOB, BOB, EVE, ROOT, EVE]) asked.push(await ask(uid));
    await goOn(held, asked);
    assert.deepEqual(order, [BOB, EVE, ROOT, BOB, EVE, BOB, BOB]);
    assert.deepEqual(await files.list(`${folder}/verb.queue`), [], "no ticket is left");
    if (kind === "disk") await Deno.remove(folder, { recursive: true });
  });
}

Deno.test("takeVerbLock() ignores tickets of ended processes and other files", async () => {
  const files = memoryFiles({
    [`${LOCKS}/verb.queue/${EVE}.1.00000000-0000-4000-8000-000000000000`]: "",
    [`${LOCKS}/verb.queue/.0123.fleetctl-tmp`]: "",
    [`${LOCKS}/verb.served.json`]: "{damaged",
  });
  const { take } = watch(files);
  const lock = await take(BOB);
  await lock.release();
  assert.deepEqual(await files.list(`${LOCKS}/verb.queue`), [".0123.fleetctl-tmp"]);
  assert.equal(await files.readText(`${LOCKS}/verb.served.json`), `{"${BOB}":1}\n`);
});

Deno.test("takeVerbLock() serves callers in turn where nothing can be written", async () => {
  const files = memoryFiles();
  files.failUnder(`${LOCKS}/verb.served.json`, "ENOSPC");
  const { take, ask, goOn, order } = watch(files);
  const held = await take(BOB);
  const asked = [await ask(BOB), await ask(ROOT)];
  await goOn(held, asked);
  assert.deepEqual(order, [BOB, ROOT]);
});
