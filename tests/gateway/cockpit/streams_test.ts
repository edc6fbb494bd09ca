/**
 * Event streams: resume without loss or duplicates, previews, `lagged`, slow clients, the end. The
 * clients parse the stream by hand, as a browser would.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { AgentName } from "core/names.ts";
import fc from "fast-check";
import { STREAM_LIMITS } from "gateway/limits.ts";
import { openEventStream } from "gateway/cockpit/event_stream.ts";
import { createStreamSet } from "gateway/cockpit/streams.ts";
import { createMetrics } from "gateway/metrics.ts";
import { createHub } from "gateway/transcript/hub.ts";
import { openGatewayStore } from "gateway/transcript/store.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { openSse, sseReader } from "tests/gateway/cockpit/sse_reader.ts";
import {
  gatewayTest as test,
  registerBare,
  type TestGateway,
} from "tests/support/gateway_fixture.ts";

const SAFE = { sanitizeOps: true, sanitizeResources: true } as const;

const notice = (seq: number) => ({
  type: "event",
  event: { seq, at: 1, kind: "notice", payload: { text: `n${seq}` } },
});

test("a stream resumes after any id without loss or duplicates", async (running) => {
  const agent = await registerBare(running.dialUrl, { epoch: "e" });
  const stream = await openSse(running, "/events?topics=transcript:mia");
  const first = await stream.until("hello");
  for (let seq = 1; seq <= 5; seq++) agent.send(notice(seq));
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) ids.push((await stream.until("notice")).id ?? "");
  await stream.cancel();
  assert.equal(new Set(ids).size, 5);
  for (const [index, id] of [first.id ?? "", ...ids].entries()) {
    const again = await openSse(running, "/events?topics=transcript:mia", { "last-event-id": id });
    for (let seq = index + 1; seq <= 5; seq++) {
      assert.equal((await again.until("notice")).data.payload.text, `n${seq}`);
    }
    await again.cancel();
    const byQuery = await openSse(running, `/events?topics=transcript:mia&after=${id}`);
    if (index < 5) assert.equal((await byQuery.until("notice")).id, ids[index]);
    await byQuery.cancel();
  }
});

test("clients at the head get previews, which have no id", async (running) => {
  const agent = await registerBare(running.dialUrl, { epoch: "e" });
  const stream = await openSse(running, "/api/transcript?agent=mia");
  await stream.until("hello");
  const preview = { turn_id: "t", kind: "text_delta", payload: { message_id: "m", text: "he" } };
  agent.send({ type: "preview", event: preview });
  const seen = await stream.until("preview");
  assert.equal(seen.id, undefined);
  assert.deepEqual(seen.data, { agent: "mia", ...preview });
  await stream.cancel();
});

test("the agents topic reports agents that connect, work and disconnect", async (running) => {
  const stream = await openSse(running, "/events?topics=agents");
  const all = await stream.until("agents");
  assert.deepEqual(
    all.data.map((card: { agent: string; state: string }) => [card.agent, card.state]),
    [
      ["mia", "offline"],
    ],
  );
  await registerBare(running.dialUrl, { user_email: "bob@example.org", agent: "bob" });
  const agent = await registerBare(running.dialUrl, { epoch: "e" });
  assert.equal((await stream.until("agent")).data.is_online, true);
  agent.send({
    type: "event",
    event: { seq: 1, at: 1, kind: "agent_state", payload: { state: "working", since: 1 } },
  });
  assert.equal((await stream.until("agent")).data.state, "working");
  agent.connection.terminate();
  const gone = await stream.until("agent");
  assert.deepEqual([gone.data.agent, gone.data.state], ["mia", "offline"]);
  await stream.cancel();
});

test("events of another agent do not reach a stream", async (running) => {
  const stream = await openSse(running, "/events?topics=transcript:mia");
  const bob = await registerBare(running.dialUrl, {
    user_email: "bob@example.org",
    agent: "bob",
    epoch: "e",
  });
  bob.send(notice(1));
  await bob.next("ack");
  const mia = await registerBare(running.dialUrl, { epoch: "e" });
  mia.send(notice(1));
  assert.equal((await stream.until("notice")).data.agent, "mia");
  await stream.cancel();
});

test("a stream with a topic of another owner's agent is refused as a whole", async (running) => {
  for (const topics of ["transcript:bob", "transcript:mia,transcript:bob"]) {
    const response = await fetch(`${running.cockpitUrl}/events?topics=${topics}`, {
      headers: { "x-user-email": "mia@example.org" },
    });
    assert.equal(response.status, 403);
    await response.body?.cancel();
  }
});

test("an id of another log is answered with lagged, and the stream continues", async (running) => {
  const agent = await registerBare(running.dialUrl, { epoch: "e" });
  agent.send(notice(1));
  await agent.next("ack");
  const stream = await openSse(running, "/events?topics=transcript:mia&after=other:1");
  const lagged = await stream.until("lagged");
  assert.equal(lagged.data.reason, "unknown-id");
  assert.equal(lagged.id, lagged.data.resume);
  agent.send(notice(2));
  assert.equal((await stream.until("notice")).data.payload.text, "n2");
  await stream.cancel();
});

for (const query of ["after=x", "topics=", "topics=transcript:", "topics=secrets", "after=a:-1"]) {
  test(`a stream with ${query} is refused`, async (running) => {
    const response = await fetch(`${running.cockpitUrl}/events?${query}`, {
      headers: { "x-user-email": "mia@example.org" },
    });
    assert.equal(response.status, 400);
    await response.body?.cancel();
  });
}

test("a stream sends keep-alives", async (running) => {
  const response = await fetch(`${running.cockpitUrl}/events`, {
    headers: { "x-user-email": "mia@example.org" },
  });
  const source = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("event: agents")) text += (await source?.read())?.value ?? "";
  await running.host.clock.advance(STREAM_LIMITS.keepAliveSeconds * 1000);
  while (!text.includes(": keep-alive\n\n")) text += (await source?.read())?.value ?? "";
  await source?.cancel();
});

test("a planned shutdown of the gateway ends the streams", async (running) => {
  const stream = await openSse(running, "/events");
  await stream.until("hello");
  const closed = running.gateway.close();
  await stream.until("closing");
  assert.equal(await stream.next(), undefined);
  await closed;
});

test("pages lead back to the beginning without loss or duplicates", async (running) => {
  const agent = await registerBare(running.dialUrl, { epoch: "e" });
  for (let seq = 1; seq <= 25; seq++) agent.send(notice(seq));
  while ((await agent.next("ack")).seq !== 25);
  const texts: string[] = [];
  let before: string | null = "";
  let cursor = "";
  while (before !== null) {
    const query = `agent=mia&limit=10${before === "" ? "" : `&before=${before}`}`;
    const response = await fetch(`${running.cockpitUrl}/api/transcript?${query}`, {
      headers: { "x-user-email": "mia@example.org", accept: "application/json" },
    });
    const page: {
      readonly events: readonly { readonly payload: { readonly text: string } }[];
      readonly before: string | null;
      readonly cursor: string;
    } = await response.json();
    texts.unshift(...page.events.map(({ payload }) => payload.text));
    before = page.before;
    cursor = page.cursor;
  }
  assert.deepEqual(texts, Array.from({ length: 25 }, (_, index) => `n${index + 1}`));
  const stream = await openSse(running, `/events?topics=transcript:mia&after=${cursor}`);
  agent.send(notice(26));
  assert.equal((await stream.until("notice")).data.payload.text, "n26");
  await stream.cancel();
});

interface TurnsPage {
  readonly events: readonly { readonly id: string; readonly kind: string }[];
  readonly before: string | null;
  readonly cuts?: readonly {
    readonly turn_id: string;
    readonly before: string;
    readonly counts: Readonly<Record<string, number>>;
  }[];
}

async function askPage(running: TestGateway, query: string): Promise<TurnsPage> {
  const response = await fetch(`${running.cockpitUrl}/api/transcript?agent=mia${query}`, {
    headers: { "x-user-email": "mia@example.org", accept: "application/json" },
  });
  assert.equal(response.status, 200);
  return await response.json();
}

test("a page of turns has the question and the end of a long turn", async (of) => {
  const agent = await registerBare(of.dialUrl, { epoch: "e" });
  const calls = Array.from({ length: 8 }, () => ["tool_call", "tool_result"]).flat();
  const kinds = ["turn_asked", "turn_started", ...calls, "message"];
  const payloads: Readonly<Record<string, unknown>> = {
    turn_asked: { text: "Do it", by: "root" },
    tool_call: { call_id: "c", mcp: null, tool: "bash", arguments: {} },
    tool_result: { call_id: "c", status: "completed", text: "", cut_bytes: 0, duration_ms: 1 },
    message: { message_id: "m", role: "assistant", text: "done" },
  };
  for (const [index, kind] of kinds.entries()) {
    const event = { seq: index + 1, at: 1, kind, turn_id: "t1", payload: payloads[kind] ?? {} };
    agent.send({ type: "event", event });
  }
  while ((await agent.next("ack")).seq !== kinds.length);
  const page = await askPage(of, "&turns=5&limit=3");
  const shown = page.events.map(({ kind }) => kind);
  assert.deepEqual(shown, ["turn_asked", "tool_call", "tool_result", "message"]);
  assert.equal(page.before, null);
  const [cut] = page.cuts ?? [];
  assert.deepEqual(cut, {
    turn_id: "t1",
    before: page.events[1]?.id,
    counts: { events: 15, calls: 7, messages: 0, notices: 0, failed: 0 },
  });
  const part = await askPage(of, `&turn=t1&limit=8&before=${cut?.before}`);
  assert.deepEqual(part.events.map(({ kind }) => kind), calls.slice(0, 8));
  const rest = await askPage(of, `&turn=t1&limit=8&before=${part.before}`);
  assert.deepEqual([rest.events.length, rest.before, rest.cuts], [8, null, []]);
  const whole = await askPage(of, "&turn=t1&limit=3");
  assert.deepEqual([whole.events, whole.cuts], [page.events, page.cuts]);
  const unknown = await askPage(of, "&turn=t2&turns=5");
  assert.deepEqual([unknown.events, unknown.before, unknown.cuts], [[], null, []]);
  assert.equal((await askPage(of, "")).cuts, undefined, "a page of events is as it was");
});

for (const query of ["turns=0", "turns=51", "turn="]) {
  test(`a page with ${query} is refused`, async (running) => {
    const response = await fetch(`${running.cockpitUrl}/api/transcript?agent=mia&${query}`, {
      headers: { "x-user-email": "mia@example.org", accept: "application/json" },
    });
    assert.equal(response.status, 400);
    await response.body?.cancel();
  });
}

/** A store and a hub without a gateway. */
async function bareParts() {
  const host = memoryHost();
  const metrics = createMetrics();
  const store = await openGatewayStore(host.databases, "/g.db", "log1", 1e9);
  const hub = createHub();
  const streams = createStreamSet(metrics);
  let seq = 0;
  const add = async (text: string, count = 1) => {
    const events = Array.from({ length: count }, () => ({
      seq: ++seq,
      at: 1,
      kind: "notice",
      payload: { text },
    }));
    const appended = await store.events.appendFromAgent("mia", "e", events);
    assert.ok(appended.ok);
    hub.publish(appended.value.stored.map((event) => ({ kind: "event", event })));
  };
  const parts = { store, hub, streams, metrics, clock: host.clock, log: host.log };
  return { parts, host, add, metrics };
}
const viewer = {
  kind: "owner",
  email: "mia@example.org",
  agent: "mia" as AgentName,
  isAdmin: false,
} as const;
const wish = { viewer, agents: ["mia"], presence: undefined };

Deno.test({
  name: "a client that does not read costs one buffer, and misses nothing when it reads again",
  ...SAFE,
  fn: async () => {
    const { parts, add } = await bareParts();
    const body = openEventStream({ ...wish, from: { epoch: "log1", seq: 0 } }, parts);
    assert.ok(body);
    const big = "x".repeat(10_000);
    for (let n = 0; n < 40; n++) await add(big, 25);
    const stream = sseReader(body);
    let seen = 0;
    for (let n = 0; n < 1000; n++) {
      const event = await stream.until("notice");
      assert.equal(event.id, `log1:${++seen}`);
    }
    await stream.cancel();
  },
});

Deno.test({
  name: "the buffer of a client stays within its bound while it does not read",
  ...SAFE,
  fn: async () => {
    const { parts, add, host } = await bareParts();
    let sent = 0;
    const body = openEventStream({ ...wish, from: { epoch: "log1", seq: 0 } }, parts);
    assert.ok(body);
    const big = "x".repeat(100_000);
    for (let n = 0; n < 100; n++) await add(big);
    await host.clock.advance(STREAM_LIMITS.keepAliveSeconds * 1000);
    // The queue is what is sent without further work of the source: end the source and count.
    parts.streams.endAll();
    for await (const chunk of body) sent += chunk.byteLength;
    assert.ok(sent >= STREAM_LIMITS.clientBufferBytesMax, `${sent} bytes`);
    assert.ok(sent < STREAM_LIMITS.clientBufferBytesMax + 2 * big.length, `${sent} bytes`);
  },
});

Deno.test({
  name: "a client that is too far behind is notified and continues from the head",
  ...SAFE,
  fn: async () => {
    const { parts, add, metrics } = await bareParts();
    await add("old", STREAM_LIMITS.replayEventsMax + 1);
    const body = openEventStream({ ...wish, from: { epoch: "log1", seq: 0 } }, parts);
    const stream = sseReader(body ?? null);
    const lagged = await stream.until("lagged");
    assert.equal(lagged.data.reason, "too-far-behind");
    assert.equal(lagged.id, `log1:${STREAM_LIMITS.replayEventsMax + 1}`);
    await add("new");
    assert.equal((await stream.until("notice")).data.payload.text, "new");
    assert.equal(metrics.value("streams", { what: "lagged" }), 1);
    await stream.cancel();
  },
});

Deno.test({
  name: "a viewer with too many streams is refused, and freed when one ends",
  ...SAFE,
  fn: async () => {
    const { parts } = await bareParts();
    const openOne = () => openEventStream({ ...wish, from: undefined }, parts);
    const bodies = Array.from({ length: STREAM_LIMITS.streamsPerViewerMax }, openOne);
    assert.equal(openOne(), undefined);
    await bodies[0]?.cancel();
    const again = openOne();
    assert.ok(again);
    await Promise.all([...bodies.slice(1), again].map((body) => body?.cancel()));
  },
});

Deno.test({
  name: "random cuts of a stream lose and duplicate no event",
  ...SAFE,
  fn: async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ add: fc.nat(7), read: fc.nat(9) }), { maxLength: 30 }),
        async (rounds) => {
          const { parts, add } = await bareParts();
          const seen: number[] = [];
          let from = { epoch: "log1", seq: 0 };
          let total = 0;
          for (const { add: count, read } of [...rounds, { add: 1, read: Infinity }]) {
            const stream = sseReader(openEventStream({ ...wish, from }, parts) ?? null);
            await add("x", count);
            total += count;
            const want = Math.min(total, seen.length + read);
            while (seen.length < want) {
              const id = (await stream.until("notice")).id ?? "";
              from = { epoch: "log1", seq: Number(id.split(":")[1]) };
              seen.push(from.seq);
            }
            await stream.cancel();
          }
          assert.deepEqual(seen, Array.from({ length: total }, (_, index) => index + 1));
        },
      ),
      { numRuns: 60 },
    );
  },
});
