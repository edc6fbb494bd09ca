/**
 * What the receiver stores, and how it hands it over: bounded for each agent and in total, in order
 * for each agent. One agent's full queue does not block others, and an item is accepted only after
 * the disk has it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { Database } from "core/ports/databases.ts";
import { FileFault } from "core/ports/files.ts";
import type { ByteStream } from "core/ports/sockets.ts";
import { createSenderLink } from "teamchat/receiver/link.ts";
import { openSpool, type Spool, type SpoolItem } from "teamchat/receiver/spool.ts";
import { type FakeClock, fakeClock, settle } from "tests/fakes/clock.ts";
import { memoryDatabases } from "tests/fakes/databases.ts";
import { recordingLog } from "tests/fakes/log.ts";

const PATH = "/r/spool.db";

interface Scene {
  readonly clock: FakeClock;
  readonly log: ReturnType<typeof recordingLog>;
  readonly open: (change?: (db: Database) => Database) => Promise<Spool>;
}

function test(name: string, fn: (scene: Scene) => Promise<void>): void {
  Deno.test(name, async () => {
    const databases = memoryDatabases();
    const [clock, log] = [fakeClock(), recordingLog()];
    try {
      await fn({
        clock,
        log,
        open: (change = (db) => db) =>
          openSpool({ open: async (path) => change(await databases.open(path)) }, PATH, {
            clock,
            log,
          }),
      });
    } finally {
      databases.dispose();
    }
  });
}

let number = 0;

function itemOf(agent: string, body = "{}"): Omit<SpoolItem, "place"> {
  return { agent, key: `k${++number}`, received: 1, body };
}

async function store(
  { clock }: Scene,
  spool: Spool,
  ...items: readonly Omit<SpoolItem, "place">[]
): Promise<readonly string[]> {
  const all = Promise.all(items.map((item) => spool.store(item)));
  await clock.advance(0);
  return (await all).map((stored) => stored.ok ? "stored" : stored.error.code);
}

test("an agent's activities are bounded, and another's have room", async (scene) => {
  const spool = await scene.open();
  const many = Array.from({ length: TEAMCHAT_LIMITS.queuedTurnsMax + 2 }, () => itemOf("bea"));
  const results = await store(scene, spool, ...many, itemOf("cal"));
  assert.deepEqual(results.slice(-3), ["turn-queue-full", "turn-queue-full", "stored"]);
  assert.equal(spool.size(), TEAMCHAT_LIMITS.queuedTurnsMax + 1);
});

test("activities above the total limit are refused, also by the next process", async (scene) => {
  const body = "x".repeat(TEAMCHAT_LIMITS.spoolLengthMax / 4);
  const agents = ["a", "b", "c", "d"].map((agent) => itemOf(agent, body));
  const spool = await scene.open();
  assert.deepEqual(await store(scene, spool, ...agents, itemOf("e")), [
    "stored",
    "stored",
    "stored",
    "stored",
    "storage-failed",
  ]);
  const next = await scene.open();
  assert.deepEqual(await store(scene, next, itemOf("e")), ["storage-failed"]);
  const [first] = next.all();
  assert.ok(first !== undefined);
  const removed = next.remove(first);
  await scene.clock.advance(0);
  await removed;
  assert.deepEqual(await store(scene, next, itemOf("e")), ["stored"]);
});

test("a full disk is reported, leaves no partial row, and is used again later", async (scene) => {
  let isFull = true;
  const spool = await scene.open((db) => ({
    ...db,
    transaction: (work) => {
      if (isFull) throw new FileFault("ENOSPC", PATH, "full");
      return db.transaction(work);
    },
  }));
  assert.deepEqual(await store(scene, spool, itemOf("bea")), ["storage-full"]);
  assert.equal(spool.size(), 0);
  isFull = false;
  assert.deepEqual(await store(scene, spool, itemOf("bea")), ["stored"]);
  assert.equal(spool.all().length, 1);
});

/** A sender that the test scripts. */
function sender() {
  const asked: { n: number; body: string }[] = [];
  const incoming = new TransformStream<Uint8Array, Uint8Array>();
  const outgoing = new TransformStream<Uint8Array, Uint8Array>();
  const writer = incoming.writable.getWriter();
  void (async () => {
    for await (const text of outgoing.readable.pipeThrough(new TextDecoderStream())) {
      for (const line of text.split("\n").filter((one) => one !== "")) asked.push(JSON.parse(line));
    }
  })();
  let isClosed = false;
  const stream: ByteStream = {
    readable: incoming.readable,
    writable: outgoing.writable,
    close: () => {
      isClosed = true;
    },
  };
  return {
    stream,
    asked,
    isClosed: () => isClosed,
    say: async (text: string) => {
      await writer.write(new TextEncoder().encode(`${text}\n`));
      await settle();
    },
    end: () => writer.close(),
  };
}

/** Lets pending work finish, including writes to the disk. */
async function rest({ clock }: Scene): Promise<void> {
  for (let turn = 0; turn < 5; turn++) {
    await settle();
    await clock.advance(0);
  }
}

async function linked(scene: Scene, ...items: readonly Omit<SpoolItem, "place">[]) {
  const spool = await scene.open();
  await store(scene, spool, ...items);
  const link = createSenderLink({ spool, ...scene });
  const other = sender();
  link.attach(other.stream);
  await rest(scene);
  const accepted = async (body: string, status = 202) => {
    const n = other.asked.findLast((one) => one.body === body)?.n;
    await other.say(JSON.stringify({ type: "taken", n, status, body: "" }));
    await rest(scene);
  };
  return { spool, link, other, accepted, bodies: () => other.asked.map(({ body }) => body) };
}

test("activities of an earlier process are handed over, agents in parallel", async (scene) => {
  const items = [itemOf("bea", "1"), itemOf("bea", "2"), itemOf("cal", "3")];
  const { bodies, accepted, spool, link } = await linked(scene, ...items);
  assert.deepEqual(bodies(), ["1", "3"]);
  await accepted("1");
  assert.deepEqual(bodies(), ["1", "3", "2"]);
  await accepted("3");
  await accepted("2");
  assert.deepEqual([spool.size(), spool.all().length], [0, 0]);
  link.close();
});

for (const status of [429, 503]) {
  test(`an activity that is answered ${status} is retried later, alone`, async (scene) => {
    const items = [itemOf("bea", "1"), itemOf("bea", "2"), itemOf("cal", "3")];
    const { bodies, accepted, spool, link } = await linked(scene, ...items);
    await accepted("1", status);
    await accepted("3");
    assert.deepEqual([bodies(), spool.size()], [["1", "3"], 2]);
    await scene.clock.advance(1_000);
    await rest(scene);
    assert.deepEqual(bodies(), ["1", "3", "1"]);
    await accepted("1");
    await accepted("2");
    assert.equal(spool.size(), 0);
    link.close();
  });
}

test("an activity that the sender refuses is not handed over again", async (scene) => {
  const { bodies, accepted, spool, link } = await linked(
    scene,
    itemOf("bea", "1"),
    itemOf("bea", "2"),
  );
  await accepted("1", 403);
  assert.deepEqual(bodies(), ["1", "2"]);
  await accepted("2", 501);
  assert.equal(spool.size(), 0);
  link.close();
});

test("an invalid answer ends the connection; the next one gets everything again", async (scene) => {
  const { other, spool, link } = await linked(scene, itemOf("bea", "1"));
  await other.say('{"type":"taken","n":"one"}');
  await rest(scene);
  assert.ok(other.isClosed() && !link.isConnected());
  assert.equal(spool.size(), 1);
  const next = sender();
  link.attach(next.stream);
  await rest(scene);
  assert.deepEqual(next.asked.map(({ body }) => body), ["1"]);
  link.close();
});
