/**
 * The open turns of each agent are cached in memory. Whatever is stored, accepted, withdrawn and
 * rolled back, the cache equals the rows, and what a new process reads from them.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { Database } from "core/ports/databases.ts";
import { FileFault } from "core/ports/files.ts";
import { createOpenTurns } from "teamchat/store/open_turns.ts";
import { openTeamchatStore, type TeamchatStore } from "teamchat/store/store.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { memoryDatabases } from "tests/fakes/databases.ts";
import { recordingLog } from "tests/fakes/log.ts";

const AGENTS = ["bea", "cal"] as const;

/** An operation on open turns; all steps of one batch are one transaction. */
const step = fc.record({
  what: fc.constantFrom(
    ...["store", "store", "accept", "start", "end", "expire", "close", "edit", "withdraw"] as const,
    "nonce" as const,
  ),
  agent: fc.constantFrom(...AGENTS),
  /** Index of the stored turn, counted back from the last one. */
  back: fc.nat(4),
});
type Step = Omit<typeof step extends fc.Arbitrary<infer T> ? T : never, "agent"> & {
  readonly agent: string;
};

const batch = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 5 }),
  failsAt: fc.constantFrom("no", "no", "begin", "work", "commit"),
});

Deno.test("open turns in memory match the rows, also after a rollback", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(batch, { maxLength: 12 }), async (batches) => {
      const world = await open();
      try {
        for (const { steps, failsAt } of batches) {
          world.fail(failsAt);
          const done = steps.map((one) => world.run(one));
          await world.clock.advance(0);
          await Promise.all(done);
          world.fail("no");
          world.compare();
        }
      } finally {
        world.dispose();
      }
    }),
    { numRuns: 40 },
  );
});

Deno.test("a failed transaction rolls back nothing of an earlier one", async () => {
  const world = await open();
  try {
    const stored = world.run({ what: "store", agent: "bea", back: 0 });
    await world.clock.advance(0);
    await stored;
    for (const failsAt of ["begin", "work", "commit"] as const) {
      world.fail(failsAt);
      const failed = world.run({ what: "nonce", agent: "bea", back: 0 });
      await world.clock.advance(0);
      await failed;
      world.compare();
    }
    assert.equal(world.store.turns.nextFor("bea")?.turn.turnId, "t1");
  } finally {
    world.dispose();
  }
});

Deno.test("a turn whose acceptance was rolled back is the next one again", async () => {
  const world = await open();
  const settle = async (...steps: readonly Step[]) => {
    const done = steps.map((one) => world.run(one));
    await world.clock.advance(0);
    await Promise.all(done);
  };
  try {
    for (const _ of "123") await settle({ what: "store", agent: "bea", back: 0 });
    world.fail("commit");
    await settle({ what: "accept", agent: "bea", back: 2 });
    world.fail("no");
    world.compare();
    assert.equal(world.store.turns.nextFor("bea")?.turn.turnId, "t1");
  } finally {
    world.dispose();
  }
});

Deno.test("owners of many offline agents are notified in batches", async () => {
  const world = await open();
  try {
    const agents = Array.from({ length: 300 }, (_, n) => `agent-${n}`);
    const stored = agents.map((agent) => world.run({ what: "store", agent, back: 0 }));
    await world.clock.advance(0);
    await Promise.all(stored);
    const first = world.store.turns.waitingSince(9).map(({ agent }) => agent);
    assert.deepEqual(first, agents.slice(0, 256));
    for (const agent of first) assert.ok(world.store.absences.note(agent, 9).ok);
    const rest = world.store.turns.waitingSince(9).map(({ agent }) => agent);
    assert.deepEqual(rest, agents.slice(256));
  } finally {
    world.dispose();
  }
});

/** The database of a test, whose transactions fail where the test says. */
function faultyDatabase(plain: Database) {
  let failsAt = "no";
  const full = () => new FileFault("ENOSPC", "/r/t.db", "no space left on the disk");
  const db: Database = {
    ...plain,
    transaction: (work) => {
      if (failsAt === "begin") throw full();
      return plain.transaction(() => {
        if (failsAt === "work") throw full();
        const value = work();
        if (failsAt === "commit") throw full();
        return value;
      });
    },
  };
  const fail = (at: string) => {
    failsAt = at;
  };
  return { db, fail };
}

/** Creates a function that runs steps, with new ids for the turns and events of each. */
function stepRunner({ turns, intake, takeNonce }: TeamchatStore) {
  let count = 0;
  const numbers = { key: 0, seq: 0 };
  const deliver = (more: object) =>
    intake.store({ keys: [{ key: `k${++numbers.key}`, until: 1e9 }], now: 1, ...more });
  return async ({ what, agent, back }: Step): Promise<unknown> => {
    const id = `t${count - back}`;
    const of = { agent, conversation: `a:${agent}`, activity: id };
    switch (what) {
      case "store": {
        const turnId = `t${++count}`;
        const turn = { turnId, agent, owner: "o", activity: turnId, text: "q" };
        return await deliver({
          turn: { ...turn, context: contextOf(agent), created: 1, expires: 9 },
        });
      }
      case "accept":
        return await turns.markDelivered(agent, id, 2);
      case "start": {
        const events = [{ seq: 1, at: 1, turn_id: id, kind: "turn_started", payload: {} }];
        return await turns.append(agent, `e${++numbers.seq}`, events, 3);
      }
      case "end": {
        const payload = { outcome: "completed" };
        const events = [{ seq: 1, at: 1, turn_id: id, kind: "turn_ended", payload }];
        return await turns.append(agent, `e${++numbers.seq}`, events, 3);
      }
      case "expire":
        return turns.end(id, { outcome: "expired" }, 4);
      case "close":
        return await turns.close(id, { outcome: "failed", reason: undefined }, 5);
      case "edit":
        return await deliver({ edit: { ...of, text: "edited" } });
      case "withdraw":
        return await deliver({ withdraw: of });
      case "nonce":
        return await takeNonce(`n${++numbers.key}`, 1e9);
    }
  };
}

function contextOf(agent: string) {
  return {
    base: "",
    conversation: `a:${agent}`,
    type: "personal" as const,
    bot: { id: "b" },
    user: { id: "u" },
  };
}

/** Compares what the store has in memory with the rows, and with what a new index reads. */
function compareWithRows({ turns }: TeamchatStore, plain: Database): void {
  const select = plain.prepare(
    "select place, turn_id from turns where agent = ? and state = ? or agent = ? and state = ? " +
      "order by place",
  );
  const anew = createOpenTurns(plain);
  for (const agent of AGENTS) {
    const queued = select.all(agent, "queued", agent, "queued");
    const held = select.all(agent, "delivered", agent, "running");
    const next = turns.nextFor(agent);
    assert.equal(next?.turn.turnId, queued[0]?.turn_id);
    assert.equal(next?.isLast, queued.length === 0 ? undefined : queued.length === 1);
    assert.deepEqual(
      turns.heldBy(agent).map(({ turnId }) => turnId),
      held.map((row) => row.turn_id),
    );
    assert.deepEqual(anew.queued(agent), queued.map((row) => Number(row.place)));
    assert.deepEqual(anew.held(agent), held.map((row) => Number(row.place)));
  }
}

async function open() {
  const databases = memoryDatabases();
  const [clock, log] = [fakeClock(), recordingLog()];
  const plain = await databases.open("/r/t.db");
  const { db, fail } = faultyDatabase(plain);
  const store = await openTeamchatStore({ open: () => Promise.resolve(db) }, "/r/t.db", clock, log);
  return {
    clock,
    store,
    run: stepRunner(store),
    fail,
    compare: () => compareWithRows(store, plain),
    dispose: () => databases.dispose(),
  };
}
