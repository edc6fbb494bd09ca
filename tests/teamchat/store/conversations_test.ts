/**
 * The last conversation of each owner, however much of it is written: the order of conversations of
 * one owner and of one agent, and what a failed delivery leaves behind.
 *
 * @module
 */

import assert from "node:assert/strict";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { Database, Databases } from "core/ports/databases.ts";
import { FileFault } from "core/ports/files.ts";
import type { Delivery } from "teamchat/store/intake.ts";
import { openTeamchatStore } from "teamchat/store/store.ts";
import type { NewTurn } from "teamchat/store/turn.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { memoryDatabases } from "tests/fakes/databases.ts";
import { recordingLog } from "tests/fakes/log.ts";

async function openWorld() {
  const databases = memoryDatabases();
  const clock = fakeClock();
  let isUndone = false;
  const undoing: Databases = {
    open: async (path) => {
      const db = await databases.open(path);
      const transaction: Database["transaction"] = (work) =>
        db.transaction(() => {
          const value = work();
          if (isUndone) throw new FileFault("ENOSPC", path, "no space left");
          return value;
        });
      return { ...db, transaction };
    },
  };
  const store = await openTeamchatStore(undoing, "/r/teamchat.db", clock, recordingLog());
  let now = 0;
  const take = async (delivery: Omit<Delivery, "now">) => {
    const stored = store.intake.store({ ...delivery, now });
    await clock.advance(0);
    return await stored;
  };
  return {
    store,
    take,
    /** While the disk is full, each transaction is rolled back at its end. */
    fill: (isFull: boolean) => void (isUndone = isFull),
    pass: (ms: number) => void (now += ms),
    hear: async (owner: string, conversation: string, name = "a name", agent = "bea") => {
      now++;
      const user = { id: `29:${owner}`, name, aadObjectId: owner };
      const site = {
        base: "http://x",
        conversation,
        type: "personal",
        bot: { id: "b" },
        user,
      } as const;
      const stored = await take({
        keys: [{ key: `${now}`, until: now + 9 }],
        conversation: { owner, agent, context: site, seen: now, blocked: undefined },
      });
      return stored.ok ? stored.value.kind === "new" && stored.value.isNewConversation : undefined;
    },
    [Symbol.dispose]: () => {
      store.close();
      databases.dispose();
    },
  };
}

Deno.test("the conversation in which an owner wrote last is stored as such", async () => {
  using world = await openWorld();
  const { conversations } = world.store;
  const last = () => conversations.personalOf("o")?.context.conversation;
  assert.equal(await world.hear("o", "a:1"), true);
  assert.equal(await world.hear("o", "a:1"), false);
  assert.equal(await world.hear("o", "a:2"), true);
  assert.equal(last(), "a:2");
  await world.hear("o", "a:2");
  await world.hear("o", "a:1");
  assert.equal(last(), "a:1");
  await world.hear("o", "a:2");
  assert.equal(last(), "a:2");
});

Deno.test("of an agent's owners, the one who wrote last is stored as such", async () => {
  using world = await openWorld();
  const seen = (owner: string) => world.store.conversations.personalOf(owner)?.seen ?? 0;
  await world.hear("o", "a:1");
  await world.hear("p", "a:2");
  await world.hear("o", "a:1");
  assert.ok(seen("o") > seen("p"));
  await world.hear("p", "a:2");
  await world.hear("p", "a:2");
  assert.ok(seen("p") > seen("o"));
});

Deno.test("changes of a conversation are stored, and a message ends its block", async () => {
  using world = await openWorld();
  const { conversations } = world.store;
  await world.hear("o", "a:1");
  await world.hear("o", "a:1", "another name");
  assert.equal(conversations.get("a:1")?.context.user.name, "another name");
  assert.ok(conversations.block("a:1", "removed").ok);
  await world.hear("o", "a:1", "another name");
  assert.equal(conversations.get("a:1")?.blocked, undefined);
  await world.hear("o", "a:1", "another name", "cal");
  assert.equal(conversations.get("a:1")?.agent, "cal");
});

Deno.test("a change that was rolled back does not count as stored", async () => {
  using world = await openWorld();
  const { conversations } = world.store;
  world.fill(true);
  assert.equal(await world.hear("o", "a:1"), undefined);
  assert.equal(conversations.get("a:1"), undefined);
  world.fill(false);
  assert.equal(await world.hear("o", "a:1"), true);
  world.fill(true);
  await world.hear("o", "a:1", "another name");
  world.fill(false);
  await world.hear("o", "a:1", "another name");
  assert.equal(conversations.get("a:1")?.context.user.name, "another name");
});

Deno.test("the time of an active conversation is never older than a minute", async () => {
  using world = await openWorld();
  const seen = () => world.store.conversations.get("a:1")?.seen;
  await world.hear("o", "a:1");
  world.pass(58_000);
  await world.hear("o", "a:1");
  assert.equal(seen(), 1);
  world.pass(2_000);
  await world.hear("o", "a:1");
  assert.equal(seen(), 60_003);
});

Deno.test("a duplicate or refused delivery leaves no other key", async () => {
  using world = await openWorld();
  const key = (text: string) => ({ key: text, until: 100 });
  const record = async (delivery: Omit<Delivery, "now">) => {
    const stored = await world.take(delivery);
    return stored.ok ? stored.value.kind : stored.error.code;
  };
  assert.equal(await record({ keys: [key("two")], answer: "said" }), "new");
  const known = await world.take({ keys: [key("one"), key("two")] });
  assert.deepEqual(known.ok && known.value, { kind: "duplicate", answer: "said" });
  assert.equal(await record({ keys: [key("one")] }), "new");
  for (let n = 0; n < TEAMCHAT_LIMITS.queuedTurnsMax; n++) {
    assert.equal(await record({ keys: [key(`turn ${n}`)], turn: turnOf(`t${n}`) }), "new");
  }
  const more = { keys: [key("more"), key("than that")], turn: turnOf("t-more") };
  assert.equal(await record(more), "turn-queue-full");
  assert.equal(await record({ ...more, turn: turnOf("t-other", "cal") }), "new");
});

Deno.test("a key that is no longer valid is replaced", async () => {
  using world = await openWorld();
  const one = { keys: [{ key: "one", until: 1 }] };
  const kinds: unknown[] = [];
  for (let n = 0; n < 3; n++) {
    const stored = await world.take(one);
    kinds.push(stored.ok && stored.value.kind);
    if (n === 1) await world.hear("o", "a:1");
  }
  assert.deepEqual(kinds, ["new", "duplicate", "new"]);
});

function turnOf(turnId: string, agent = "bea"): NewTurn {
  const user = { id: "29:o", aadObjectId: "o" };
  const site = {
    base: "http://x",
    conversation: "a:1",
    type: "personal",
    bot: { id: "b" },
    user,
  } as const;
  return {
    turnId,
    agent,
    owner: "o",
    context: site,
    activity: turnId,
    text: "q",
    created: 1,
    expires: 100,
    files: [],
  };
}
