/**
 * The probe of an endpoint before its key is stored, and the meaning of its answers; against a real
 * HTTP endpoint where it matters.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  askEndpoint,
  checkModel,
  judgeList,
  judgeStatus,
  listRequest,
  modelNames,
  tokenRequest,
} from "cli/agents/model_check.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { type ModelReply, startFakeModel } from "tests/fakes/model_endpoint.ts";

const OPENAI = {
  provider: "openai",
  model: "big/1",
  baseUrl: "https://api.openai.com/v1",
  key: "k",
} as const;
const LOCAL = {
  provider: "openai-compatible",
  model: "m",
  baseUrl: "http://127.0.0.1:1/v1",
  key: undefined,
} as const;

Deno.test("listRequest() asks a provider for the one model, with its key in a header", () => {
  const openai = listRequest(OPENAI);
  assert.equal(openai.url, "https://api.openai.com/v1/models/big%2F1");
  assert.equal(openai.headers.authorization, "Bearer k");
  const anthropic = listRequest({ ...OPENAI, provider: "anthropic", baseUrl: "https://a/v1" });
  assert.equal(anthropic.headers["x-api-key"], "k");
  assert.equal(anthropic.headers.authorization, undefined);
  assert.equal(listRequest(LOCAL).url, "http://127.0.0.1:1/v1/models");
  assert.equal(listRequest(LOCAL).headers.authorization, undefined);
  assert.match(tokenRequest(LOCAL).body ?? "", /"max_tokens":1/);
});

Deno.test("checks an endpoint without a model list by requesting one token", () => {
  const mirror = { ...OPENAI, baseUrl: "https://mirror/v1" };
  assert.equal(judgeList(mirror, { status: 404, body: "" }), undefined);
  assert.equal(judgeList(OPENAI, { status: 404, body: "" })?.ok, false);
  const openai = tokenRequest(mirror);
  assert.equal(openai.url, "https://mirror/v1/responses");
  assert.match(openai.body ?? "", /"max_output_tokens":16,"input":\[/);
  const anthropic = tokenRequest({ ...mirror, provider: "anthropic" });
  assert.equal(anthropic.url, "https://mirror/v1/messages");
  assert.match(anthropic.body ?? "", /"max_tokens":1,"messages":\[/);
  assert.equal(anthropic.headers["x-api-key"], "k");
});

const STATUS: readonly [status: number, code: string][] = [
  [200, "ok"],
  [401, "model-unauthorized"],
  [403, "model-unauthorized"],
  [404, "model-not-found"],
  [402, "model-quota-exhausted"],
  [429, "model-quota-exhausted"],
  [500, "model-overloaded"],
  [302, "model-garbage"],
  [418, "model-garbage"],
];
for (const [status, want] of STATUS) {
  Deno.test(`judgeStatus() answers ${want} to ${status}`, () => {
    const judged = judgeStatus(OPENAI, status);
    assert.equal(judged.ok ? "ok" : judged.error.code, want);
    assert.ok(judged.ok || !JSON.stringify(judged.error).includes('"k"'));
  });
}

Deno.test("judgeList() lists the models of an endpoint that lacks the requested one", () => {
  const data = Array.from({ length: 11 }, (_, at) => ({ id: `m${at}` }));
  const judged = judgeList(LOCAL, { status: 200, body: JSON.stringify({ data }) });
  assert.ok(judged !== undefined && !judged.ok);
  assert.equal(judged.error.code, "model-not-found");
  assert.equal(
    judged.error.details[0],
    "model: is none of the endpoint's: m0, m1, m2, m3, m4, m5, m6, m7 and 3 more",
  );
});

Deno.test("modelNames() keeps printable names, and returns nothing without a list", () => {
  const data = [{ id: "a" }, { id: "b\u001b[31m" }, { id: 3 }, {}, null];
  assert.deepEqual(modelNames(JSON.stringify({ data })), ["a", "3"]);
  for (const text of ["", "<html>", "[]", '{"data":{}}']) assert.equal(modelNames(text), undefined);
});

const list: ModelReply = { kind: "status", status: 200, body: { data: [{ id: "m" }] } };
const status = (value: number): ModelReply => ({ kind: "status", status: value });
const ENDPOINTS: readonly [name: string, replies: readonly ModelReply[], code: string][] = [
  ["it lists the model", [list], "ok"],
  ["it has no list and answers", [status(404), { kind: "answer", text: "yes" }], "ok"],
  ["it has no list and refuses the key", [status(404), status(401)], "model-unauthorized"],
  [
    "it is a web site",
    [{ kind: "garbage", body: "<html>", contentType: "text/html" }],
    "model-garbage",
  ],
  [
    "it redirects the caller",
    [{ kind: "status", status: 302, headers: { location: "http://169.254.169.254/" } }],
    "model-garbage",
  ],
  ["its answer never ends", [{ kind: "garbage", body: "x".repeat(5_000_000) }], "model-garbage"],
];
for (const [name, replies, want] of ENDPOINTS) {
  Deno.test(`checkModel() answers ${want} when ${name}`, async () => {
    const endpoint = await startFakeModel();
    try {
      endpoint.script(...replies);
      const checked = await checkModel(memoryPorts(), { ...LOCAL, baseUrl: endpoint.baseUrl });
      assert.equal(checked.ok ? "ok" : checked.error.code, want);
      assert.equal(endpoint.requests.length, replies.length);
    } finally {
      await endpoint.close();
    }
  });
}

Deno.test("checkModel() answers model-unreachable when no server listens", async () => {
  const checked = await checkModel(memoryPorts(), LOCAL);
  assert.equal(checked.ok ? "ok" : checked.error.code, "model-unreachable");
});

Deno.test("askEndpoint() stops waiting for an endpoint that never answers", async () => {
  const endpoint = await startFakeModel();
  try {
    endpoint.script({ kind: "hang", text: "" });
    const { clock } = memoryHost();
    const asked = askEndpoint(
      { http: { fetch: (...of) => fetch(...of) }, clock },
      { ...listRequest(LOCAL), url: `${endpoint.baseUrl}/models` },
    );
    while (endpoint.requests.length === 0) await new Promise((go) => setTimeout(go, 5));
    await clock.advanceToNext();
    assert.equal(await asked, undefined);
    await endpoint.hungUp;
  } finally {
    await endpoint.close();
  }
});

function memoryPorts() {
  return {
    http: { fetch: (...of: Parameters<typeof fetch>) => fetch(...of) },
    clock: memoryHost().clock,
  };
}
