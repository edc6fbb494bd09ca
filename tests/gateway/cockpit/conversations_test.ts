/**
 * Conversations at the cockpit: turns in several of them, the list, the filtered transcript, and
 * clients of an older version.
 *
 * @module
 */

import assert from "node:assert/strict";
import { memoryDatabases } from "tests/fakes/databases.ts";
import { scriptedRuntime, type TurnStage } from "tests/fakes/runtime.ts";
import { cockpitReader, type ShownEvent } from "tests/support/cockpit_reader.ts";
import { liveHost, startTestDial } from "tests/support/dial_fixture.ts";
import {
  gatewayTest,
  registerBare,
  startTestGateway,
  type TestGateway,
} from "tests/support/gateway_fixture.ts";
import { openGatewayStore } from "gateway/transcript/store.ts";

type Answer = Readonly<Record<string, unknown>> & { readonly status: number };

/** Requests of mia's owner. */
function caller({ cockpitUrl }: TestGateway) {
  return async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const response = await fetch(`${cockpitUrl}${path}`, {
      method,
      headers: {
        "x-user-email": "mia@example.org",
        "accept": "application/json",
        "content-type": "application/json",
        "idempotency-key": crypto.randomUUID(),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { ...await response.json() as object, status: response.status };
  };
}
const idsOf = (answer: Answer) =>
  (answer.conversations as { conversation: string }[]).map(({ conversation }) => conversation);

Deno.test({
  name: "turns of two conversations run in order, and each transcript shows its own",
  sanitizeOps: true,
  sanitizeResources: true,
  fn: async () => {
    await using running = await startTestGateway({ host: liveHost({ seed: 3 }) });
    const call = caller(running);
    const ids: unknown[] = [];
    for (const [text, conversation] of [["a1"], ["b1", "b"], ["a2", "default"], ["b2", "b"]]) {
      const turn = { agent: "mia", text, conversation };
      ids.push((await call("POST", "/api/turns", turn)).turn_id);
    }
    const driver = scriptedRuntime(async ({ text, report }: TurnStage) => {
      await report({ kind: "message", messageId: text, text: `re ${text}` });
      return { outcome: "completed" };
    });
    const unit = await startTestDial({ url: running.dialUrl, driver });
    let ended = 0;
    const cockpit = cockpitReader(() => running.cockpitUrl);
    await cockpit.follow(({ kind }) => kind === "turn_ended" && ++ended === 4);
    await unit.close();
    assert.deepEqual(driver.begun, ids);
    assert.deepEqual(driver.opened, ["default", "b", "default", "b"]);
    for (const [conversation, wanted] of [["default", ["a1", "a2"]], ["b", ["b1", "b2"]]]) {
      for (const how of ["", "&turns=5", "&limit=500"]) {
        const page = await call(
          "GET",
          `/api/transcript?agent=mia&conversation=${conversation}${how}`,
        );
        const events = page.events as ShownEvent[];
        const texts = events.filter(({ kind }) => kind === "turn_queued")
          .map(({ payload }) => payload.text);
        assert.deepEqual(texts, wanted, how);
        assert.ok(events.every(({ turn_id }) => turn_id !== null));
      }
    }
    const one = await call("GET", "/api/transcript?agent=mia&conversation=b&turns=1");
    const older = `/api/transcript?agent=mia&conversation=b&turns=1&before=${one.before}`;
    const first = (await call("GET", older)).events as ShownEvent[];
    assert.equal(first[0]?.payload.text, "b1");
  },
});

gatewayTest("conversations are begun, listed, renamed, archived and brought back", async (at) => {
  const call = caller(at);
  const of = { agent: "mia", conversation: "b" };
  assert.equal((await call("POST", "/api/turns", { ...of, text: "hi" })).status, 202);
  const begun = await call("POST", "/api/conversations", {
    agent: "mia",
    conversation: "trip",
    name: "Trip to Rome",
  });
  assert.deepEqual([begun.status, begun.name, begun.is_archived], [201, "Trip to Rome", false]);
  const list = (query = "") => call("GET", `/api/conversations?agent=mia${query}`);
  assert.deepEqual(idsOf(await list()), ["default", "trip", "b"]);
  const first = await list("&limit=1");
  assert.deepEqual([idsOf(first), first.before], [["default", "trip"], "trip"]);
  const last = await list("&limit=1&before=trip");
  assert.deepEqual([idsOf(last), last.before], [["b"], null]);

  const renamed = await call("PATCH", "/api/conversations", { ...of, name: "Bills" });
  assert.deepEqual([renamed.status, renamed.name], [200, "Bills"]);
  const archived = await call("PATCH", "/api/conversations", { ...of, is_archived: true });
  assert.deepEqual([archived.name, archived.is_archived], ["Bills", true]);
  assert.deepEqual(idsOf(await list()), ["default", "trip"]);
  assert.deepEqual(idsOf(await list("&archived=true")), ["default", "trip", "b"]);
  await call("POST", "/api/turns", { ...of, text: "again" });
  assert.deepEqual(idsOf(await list()), ["default", "trip", "b"]);
});

gatewayTest("requests that do not fit are refused", async (at) => {
  const call = caller(at);
  await call("POST", "/api/conversations", { agent: "mia", conversation: "b" });
  const rows = [
    ["POST", "/api/turns", { conversation: "No Name", text: "x" }, 400, "input-invalid"],
    ["POST", "/api/turns", { conversation: "", text: "x" }, 400, "input-invalid"],
    ["POST", "/api/turns", { conversation: "x".repeat(65), text: "x" }, 400, "input-invalid"],
    ["POST", "/api/conversations", { conversation: "../b" }, 400, "input-invalid"],
    ["POST", "/api/conversations", { conversation: "b" }, 409, "conversation-exists"],
    ["POST", "/api/conversations", { conversation: "default" }, 409, "conversation-default"],
    ["PATCH", "/api/conversations", { conversation: "c", name: "C" }, 404, "conversation-unknown"],
    ["PATCH", "/api/conversations", { conversation: "b", name: " " }, 400, "input-invalid"],
    [
      "PATCH",
      "/api/conversations",
      { conversation: "default", name: "D" },
      409,
      "conversation-default",
    ],
  ] as const;
  for (const [method, path, body, status, code] of rows) {
    const answer = await call(method, path, { agent: "mia", ...body });
    assert.deepEqual([answer.status, answer.code], [status, code], JSON.stringify(body));
  }
  const filter = await call("GET", "/api/transcript?agent=mia&conversation=A");
  assert.equal(filter.code, "input-invalid");
});

gatewayTest("a client of an older version gets the default conversation", async (at) => {
  const call = caller(at);
  const turn = { agent: "mia", text: "queued while it was away", conversation: "b" };
  assert.equal((await call("POST", "/api/turns", turn)).status, 202);
  const capabilities = ["turns", "messages", "files"];
  const client = await registerBare(at.dialUrl, { capabilities });
  const frame = await client.next("turn");
  assert.deepEqual([frame.text, "conversation" in frame], [turn.text, false]);
  const refused = await call("POST", "/api/turns", turn);
  assert.deepEqual([refused.status, refused.code], [409, "conversations-unsupported"]);
  const inDefault = await call("POST", "/api/turns", { ...turn, conversation: "default" });
  assert.equal(inDefault.status, 202);
  client.connection.terminate();
});

Deno.test("an agent has at most 10,000 conversations, and an older log has none", async () => {
  const databases = memoryDatabases();
  const open = () => openGatewayStore(databases, "/gateway.db", "e1", 1e12);
  let store = await open();
  const queue = (n: number) =>
    store.turns.queue({
      turnId: `t${n}`,
      agent: "mia",
      text: "x",
      origin: "owner:a",
      hops: 0,
      asker: "owner:a",
      idempotencyKey: `k${n}`,
      at: n,
      conversation: `c${n}`,
    });
  const db = await databases.open("/gateway.db");
  assert.ok((await queue(0)).ok);
  db.exec(
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 9999) " +
      "insert into conversations (agent, conversation, name, created) " +
      "select 'mia', 'c' || i, 'c' || i, i from n",
  );
  const begin = (agent: string) =>
    store.conversations.begin({
      agent,
      conversation: "more",
      name: "more",
      created: 1,
      isArchived: false,
    });
  const refused = begin("mia");
  assert.equal(refused.ok ? "begun" : refused.error.code, "conversation-limit");
  assert.ok(begin("bob").ok);
  // The agent's host may begin one more. It runs, and is not listed.
  assert.ok((await queue(10_000)).ok);
  assert.equal(store.conversations.find("mia", "c10000"), undefined);

  db.exec(
    "drop trigger conversation_begun; drop table conversations; " +
      "drop index turn_counts_by_conversation; " +
      "drop trigger turn_counted; alter table turn_counts drop column conversation; " +
      "alter table turns drop column conversation",
  );
  store = await open();
  assert.equal((await store.turns.find("t0"))?.conversation, undefined);
  assert.ok((await queue(1)).ok);
  assert.equal(store.conversations.find("mia", "c1")?.name, "c1");
  const { events } = await store.events.turnPage({
    agent: "mia",
    before: undefined,
    turns: 5,
    limit: 5,
    conversation: "c1",
  });
  assert.deepEqual(events.map(({ turnId }) => turnId), ["t1"]);
  databases.dispose();
});
