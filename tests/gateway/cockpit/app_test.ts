/** Tests of the cockpit's answers: problems, input, turns, published description. @module */

import assert from "node:assert/strict";
import { TURN_LIMITS } from "core/limits/turn.ts";
import { STREAM_LIMITS } from "gateway/limits.ts";
import {
  gatewayTest as test,
  registerBare,
  startTestGateway,
  type TestGateway,
} from "tests/support/gateway_fixture.ts";

const MIA = { "x-user-email": "mia@example.org" };

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // deno-lint-ignore no-explicit-any -- bodies are checked field by field
  readonly body: any;
}
async function call(
  running: TestGateway,
  path: string,
  init: RequestInit & { readonly headers?: Record<string, string> } = {},
): Promise<Answer> {
  const response = await fetch(`${running.cockpitUrl}${path}`, {
    ...init,
    headers: { ...MIA, ...init.headers },
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}
function post(running: TestGateway, body: unknown, headers: Record<string, string> = {}) {
  return call(running, "/api/turns", {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": "k", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}
const turn = { agent: "mia", text: "hi" };

test("an unknown address returns a page to browsers, else a problem", async (running) => {
  const { host } = running;
  const accept = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8";
  const unbuilt = await call(running, "/foo", { headers: { accept } });
  assert.equal(unbuilt.body.code, "route-unknown");
  await host.files.ensureDir("/r/usr/lib/fleetctl/web");
  await host.files.write("/r/usr/lib/fleetctl/web/web.json", '{"files":[]}');
  const html = '<html><script type="module" src="/x.js"></script><body><i></i></body></html>';
  await host.files.write("/r/usr/lib/fleetctl/web/page.html", html);
  await using built = await startTestGateway({ host });
  const at = async (path: string, method: string, headers: Record<string, string>) => {
    const answer = await fetch(`${built.cockpitUrl}${path}`, { method, headers });
    return { answer, text: await answer.text() };
  };
  const { answer, text } = await at("/foo", "GET", { accept });
  assert.equal(answer.status, 404);
  assert.match(answer.headers.get("content-security-policy") ?? "", /default-src 'none'/);
  assert.match(text, /<h1>Not found<\/h1>.*href="\/"/);
  assert.doesNotMatch(text, /script|foo/);
  for (
    const [path, method, headers] of [
      ["/api/foo", "GET", { accept }],
      ["/foo", "POST", { accept }],
      ["/foo", "GET", { accept: "application/json" }],
    ] as const
  ) assert.match((await at(path, method, headers)).text, /route-unknown/, `${method} ${path}`);
});

test("a page that shows another viewer gets no data, and cannot send a turn", async (running) => {
  const of = (email: string) => ({ "fleetctl-page-viewer": encodeURIComponent(email) });
  for (const path of ["/api/agents", "/api/transcript?agent=mia", "/events?topics=agents"]) {
    const other = await call(running, path, { headers: of("kai@example.org") });
    assert.deepEqual([other.status, other.body.code], [409, "viewer-changed"], path);
  }
  const sent = await post(running, turn, of("kai@example.org"));
  assert.deepEqual([sent.status, sent.body.code], [409, "viewer-changed"]);
  assert.equal(
    (await call(running, "/api/agents", { headers: of("mia@example.org") })).status,
    200,
  );
  const noIdentity = { "x-user-email": "", ...of("mia@example.org") };
  assert.equal(
    (await call(running, "/api/agents", { headers: noIdentity })).body.code,
    "viewer-denied",
  );
  assert.equal((await post(running, turn, of("mia@example.org"))).status, 202);
});

test("an unknown route and a wrong method are problems with stable codes", async (running) => {
  const unknown = await call(running, "/api/nothing");
  assert.equal(unknown.status, 404);
  assert.equal(unknown.body.code, "route-unknown");
  assert.equal(unknown.headers.get("content-type"), "application/problem+json");
  const wrong = await call(running, "/api/turns");
  assert.equal(wrong.status, 405);
  assert.equal(wrong.body.code, "method-not-allowed");
  assert.equal(wrong.headers.get("allow"), "POST");
});

test("a valid request id is kept, and any other is replaced", async (running) => {
  const given = await call(running, "/api/agents", { headers: { "x-request-id": "req-1" } });
  assert.equal(given.headers.get("x-request-id"), "req-1");
  const bad = await call(running, "/api/agents", { headers: { "x-request-id": "a b" } });
  assert.match(bad.headers.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/);
});

const badInputs = [
  {
    name: "another media type",
    body: turn,
    headers: { "content-type": "text/plain" },
    status: 415,
  },
  { name: "no JSON", body: "{", headers: {}, status: 400 },
  { name: "a missing field", body: { agent: "mia" }, headers: {}, status: 400 },
  { name: "an empty text", body: { agent: "mia", text: "  " }, headers: {}, status: 400 },
  { name: "a bad key", body: turn, headers: { "idempotency-key": "a b" }, status: 400 },
  {
    name: "a text over the limit",
    body: { agent: "mia", text: "x".repeat(TURN_LIMITS.textBytesMax + 1) },
    headers: {},
    status: 400,
  },
  {
    name: "a body over the limit",
    body: { agent: "mia", text: "x".repeat(STREAM_LIMITS.requestBodyBytesMax) },
    headers: {},
    status: 413,
  },
];
for (const { name, body, headers, status } of badInputs) {
  test(`a turn with ${name} is refused with ${status}`, async (running) => {
    const answer = await post(running, body, headers as Record<string, string>);
    assert.equal(answer.status, status);
    assert.ok(!JSON.stringify(answer.body).includes("xxxx"));
  });
}

test("every fault of an input is named", async (running) => {
  const answer = await post(running, { text: 1 }, { "idempotency-key": "a b" });
  assert.equal(answer.body.code, "input-invalid");
  const places = (answer.body.errors as string[]).map((line) => line.split(":")[0]);
  assert.deepEqual(places, ["header.idempotency-key", "body.agent", "body.text"]);
});

test("a turn needs an idempotency key", async (running) => {
  const response = await fetch(`${running.cockpitUrl}/api/turns`, {
    method: "POST",
    headers: { ...MIA, "content-type": "application/json" },
    body: JSON.stringify(turn),
  });
  assert.equal(response.status, 400);
  assert.match(await response.text(), /idempotency-key/);
});

test("the same key with the same text is the same turn, else a conflict", async (running) => {
  const first = await post(running, turn);
  const second = await post(running, turn);
  assert.equal(first.status, 202);
  assert.deepEqual(second.body, first.body);
  const other = await post(running, { ...turn, text: "other" });
  assert.equal(other.status, 409);
  assert.equal(other.body.code, "turn-key-reused");
});

test("the same idempotency key of two callers means two turns", async (running) => {
  const mine = await post(running, turn);
  const admins = await post(running, turn, { "x-user-email": "ada@example.org" });
  assert.equal(admins.status, 202);
  assert.notEqual(admins.body.turn_id, mine.body.turn_id);
});

test("a queue that is full refuses with 429", async (running) => {
  for (let n = 0; n < TURN_LIMITS.queuedTurnsMax; n++) {
    assert.equal((await post(running, turn, { "idempotency-key": `k${n}` })).status, 202);
  }
  const over = await post(running, turn, { "idempotency-key": "over" });
  assert.equal(over.status, 429);
  assert.equal(over.body.code, "turn-queue-full");
});

test("an admin learns that an agent does not exist, an owner does not", async (running) => {
  const body = { agent: "ghost", text: "hi" };
  const owner = await post(running, body);
  assert.equal(owner.body.code, "agent-denied");
  const admin = await post(running, body, { "x-user-email": "ada@example.org" });
  assert.equal(admin.body.code, "agent-unknown");
});

test("a turn that waits is cancelled at once, a second cancel changes nothing", async (running) => {
  const { turn_id } = (await post(running, turn)).body;
  const cancel = () =>
    call(running, "/api/turns/cancel", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ agent: "mia", turn_id }),
    });
  assert.equal((await cancel()).body.state, "ended");
  assert.equal((await cancel()).body.state, "ended");
  const page = await call(running, "/api/transcript?agent=mia", {
    headers: { accept: "application/json" },
  });
  const ends = (page.body.events as { kind: string; payload: { code: string } }[])
    .filter(({ kind }) => kind === "turn_ended");
  assert.deepEqual(ends.map(({ payload }) => payload.code), ["cancelled-before-delivery"]);
});

test("the route of one agent cancels no turn of another agent", async (running) => {
  const bobs = await post(running, { agent: "bob", text: "hi" }, {
    "x-user-email": "bob@example.org",
  });
  const answer = await call(running, "/api/turns/cancel", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ agent: "mia", turn_id: bobs.body.turn_id }),
  });
  assert.equal(answer.status, 404);
  assert.equal(answer.body.code, "turn-unknown");
});

test("a card shows the state while the agent is connected, then offline", async (running) => {
  const offline = (await call(running, "/api/agents")).body.agents[0];
  assert.equal(offline.state, "offline");
  const client = await registerBare(running.dialUrl, { host: "atlas", version: "9.9", epoch: "e" });
  client.send({
    type: "event",
    event: { seq: 1, at: 5, kind: "agent_state", payload: { state: "working", since: 5 } },
  });
  await client.next("ack");
  const online = (await call(running, "/api/agents")).body.agents[0];
  assert.deepEqual(
    [online.state, online.since, online.host, online.version, online.is_own, online.is_online],
    ["working", 5, "atlas", "9.9", true, true],
  );
  const { bytes, bytes_max: bytesMax, oldest } = online.storage;
  assert.ok(bytes > 0 && bytes < bytesMax && oldest === 5, JSON.stringify(online.storage));
  client.connection.close(1000, "");
  await running.host.log.next("agent disconnected");
  const gone = (await call(running, "/api/agents")).body.agents[0];
  assert.equal(gone.state, "offline");
  assert.equal(gone.last_seen.close_code, 1000);
});

test("an admin sees the fleet, an owner one agent", async (running) => {
  const names = async (email: string) => {
    const answer = await call(running, "/api/agents", { headers: { "x-user-email": email } });
    return (answer.body.agents as { agent: string }[]).map(({ agent }) => agent);
  };
  assert.deepEqual(await names("ada@example.org"), ["ada", "bob", "mia"]);
  assert.deepEqual(await names("bob@example.org"), ["bob"]);
});

test("the OpenAPI description is generated from the route table", async (running) => {
  const { body } = await call(running, "/api/openapi.json");
  assert.equal(body.openapi, "3.1.0");
  const post = body.paths["/api/turns"].post;
  assert.equal(post["x-fleetctl-gate"], "allowAgent");
  assert.deepEqual(post.requestBody.content["application/json"].schema.required, ["agent", "text"]);
  assert.equal(post.parameters[0].name, "idempotency-key");
  assert.equal(post.parameters[0].required, true);
  const { parameters, responses } = body.paths["/api/transcript"].get;
  assert.ok(responses["200"].content["text/event-stream"]);
  const page = responses["200"].content["application/json"].schema;
  assert.deepEqual(page.required, ["events", "before", "cursor"], "cuts are of pages by turns");
  assert.ok(page.properties.cuts);
  const optional = parameters.filter(({ required }: { required: boolean }) => !required);
  const names = optional.map(({ name }: { name: string }) => name);
  assert.deepEqual(["turns", "turn"].filter((name) => !names.includes(name)), []);
});

test("metrics count without naming a person", async (running) => {
  await registerBare(running.dialUrl);
  await post(running, turn);
  const response = await fetch(`${running.cockpitUrl}/metrics`);
  const text = await response.text();
  assert.match(text, /^fleetctl_gateway_registers_total\{reason="",result="accepted"\} 1$/m);
  assert.match(text, /^fleetctl_gateway_agents 1$/m);
  assert.match(text, /^fleetctl_gateway_turns_total 1$/m);
  assert.match(text, /^fleetctl_gateway_fullest_share 0$/m);
  assert.doesNotMatch(text, /\bmia\b/);
});
