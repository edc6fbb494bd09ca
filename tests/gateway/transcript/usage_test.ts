/**
 * The storage limit of one agent at the gateway: usage is counted on insert and delete by any
 * program, events over the limit are refused, and other agents are not affected.
 *
 * @module
 */

import assert from "node:assert/strict";
import { EVENT_LIMITS } from "core/limits/event.ts";
import { expireEvents } from "cli/gc/events.ts";
import { openGatewayStore } from "gateway/transcript/store.ts";
import { memoryHost } from "tests/fakes/host.ts";

const BIG = 1_000_000;

function notices(from: number, count: number, text: string, at = 1) {
  return Array.from(
    { length: count },
    (_, index) => ({ seq: from + index, at, kind: "notice", payload: { text } }),
  );
}

async function usedBy(host: ReturnType<typeof memoryHost>): Promise<Record<string, number>> {
  const db = await host.databases.open("/g.db");
  const rows = db.prepare("select agent, bytes from agent_bytes order by agent").all();
  return Object.fromEntries(rows.map((row) => [String(row.agent), Number(row.bytes)]));
}

Deno.test("a gateway refuses events of an agent at its bound, and accepts another's", async () => {
  const host = memoryHost();
  const store = await openGatewayStore(host.databases, "/g.db", "log1", BIG);
  const { events } = store;
  const large = "x".repeat(600_000);
  // A batch that begins below the bound is stored whole.
  const taken = await events.appendFromAgent("mia", "e", notices(1, 2, large));
  assert.equal(taken.ok && taken.value.ackedSeq, 2);
  assert.equal(await events.hasRoom("mia"), false);
  const refused = await events.appendFromAgent("mia", "e", notices(3, 1, "more"));
  assert.equal(refused.ok ? "" : refused.error.code, "agent-storage-full");
  const anew = await events.appendFromAgent("mia", "other", notices(1, 1, "more"));
  assert.equal(anew.ok ? "" : anew.error.code, "agent-storage-full");
  // Stored events are acknowledged again; refused events left no trace.
  const again = await events.appendFromAgent("mia", "e", notices(2, 1, large));
  assert.equal(again.ok && again.value.ackedSeq, 2);
  assert.equal(await events.ackedSeq("mia", "other"), 0);
  const bob = await events.appendFromAgent("bob", "e", notices(1, 1, "an answer"));
  assert.equal(bob.ok && bob.value.ackedSeq, 1);
  assert.deepEqual(await usedBy(host), {
    bob: JSON.stringify({ text: "an answer" }).length + 2 * EVENT_LIMITS.rowBytes,
    mia: 2 * (large.length + '{"text":""}'.length) + 3 * EVENT_LIMITS.rowBytes,
  });
});

Deno.test("usage reports an agent's bytes, its oldest event, and the fullest share", async () => {
  const host = memoryHost();
  const { events, usage } = await openGatewayStore(host.databases, "/g.db", "log1", BIG);
  assert.equal(usage.fullest(), 0);
  assert.deepEqual(usage.of("mia"), { bytes: 0, bytesMax: BIG, oldest: undefined });
  await events.appendFromAgent("bob", "e", notices(1, 1, "few", 7));
  await events.appendFromAgent("mia", "e", notices(1, 2, "x".repeat(400_000), 9));
  const { bytes, oldest } = usage.of("mia");
  assert.equal(bytes, (await usedBy(host)).mia);
  assert.equal(oldest, 9);
  assert.equal(usage.fullest(), bytes / BIG);
});

Deno.test("messages count for the agent that writes them, an owner's for none", async () => {
  const host = memoryHost();
  const { turns } = await openGatewayStore(host.databases, "/g.db", "log1", BIG);
  const turn = { agent: "bob", text: "hello", hops: 0, at: 1 };
  const owner = "owner:bob@example.org";
  for (const origin of ["agent:mia", owner]) {
    const queued = await turns.queue({
      ...turn,
      turnId: `t-${origin}`,
      origin,
      asker: origin,
      idempotencyKey: "k",
    });
    assert.ok(queued.ok);
  }
  const used = await usedBy(host);
  assert.deepEqual(Object.keys(used), ["mia"]);
  assert.ok((used.mia ?? 0) > EVENT_LIMITS.rowBytes);
});

Deno.test("gc frees space of an agent while the gateway runs", async () => {
  const host = memoryHost();
  const { events } = await openGatewayStore(host.databases, "/g.db", "log1", BIG);
  await events.appendFromAgent("mia", "e", notices(1, 2, "x".repeat(600_000), 1_000));
  await events.appendFromAgent("bob", "e", notices(1, 1, "young", 5_000));
  assert.equal(await events.hasRoom("mia"), false);
  const files = { stat: () => Promise.resolve({} as never) };
  const options = { beforeMs: 2_000, nowMs: 5_000, isDryRun: false };
  const gone = await expireEvents({ files, databases: host.databases }, "/g.db", options);
  assert.equal(gone.count, 2);
  assert.equal((await usedBy(host)).mia, EVENT_LIMITS.rowBytes);
  const next = await events.appendFromAgent("mia", "e", notices(3, 1, "more", 6_000));
  assert.equal(next.ok && next.value.ackedSeq, 3);
});

Deno.test("a log that an older program wrote is counted once, when it is opened", async () => {
  const host = memoryHost();
  const { events } = await openGatewayStore(host.databases, "/g.db", "log1", BIG);
  await events.appendFromAgent("mia", "e", notices(1, 3, "words"));
  const db = await host.databases.open("/g.db");
  const drop = "drop trigger event_added; drop trigger event_removed; drop trigger cursor_added;";
  await events.appendFromAgent("mia", "e", notices(4, 1, "by an older program"));
  db.exec(`${drop} drop table agent_bytes;`);
  const sizes = 3 * '{"text":"words"}'.length + '{"text":"by an older program"}'.length;
  const wanted = { mia: sizes + 4 * EVENT_LIMITS.rowBytes };
  for (let opened = 0; opened < 2; opened++) {
    await openGatewayStore(host.databases, "/g.db", "log1", BIG);
    assert.deepEqual(await usedBy(host), wanted);
  }
});
