/**
 * The models that `up` finds on a machine, against real endpoints on loopback, and the model it
 * starts with.
 *
 * @module
 */

import assert from "node:assert/strict";
import { findModel, findModels, firstModel, newestModel } from "cli/up/find_models.ts";
import { offerLines } from "cli/up/model_offer.ts";
import { pathsUnder } from "core/paths.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { type FakeModel, type ModelReply, startFakeModel } from "tests/fakes/model_endpoint.ts";

const NO_ENV = {};

function ports() {
  const asked: string[] = [];
  return {
    asked,
    clock: memoryHost().clock,
    http: {
      fetch: (address: string | URL | Request, init?: RequestInit) => {
        asked.push(String(address));
        return fetch(address, init);
      },
    },
  };
}

async function withEndpoint(
  reply: ModelReply,
  tell: (endpoint: FakeModel, port: number) => Promise<void>,
): Promise<void> {
  const endpoint = await startFakeModel();
  try {
    endpoint.script(reply);
    await tell(endpoint, Number(new URL(endpoint.baseUrl).port));
  } finally {
    await endpoint.close();
  }
}

const list = (...ids: readonly string[]): ModelReply => ({
  kind: "status",
  status: 200,
  body: { data: ids.map((id) => ({ id })) },
});

Deno.test("findModels() finds keys of the environment, and sends no request for them", async () => {
  const given = ports();
  const env = { ANTHROPIC_API_KEY: " key-1 ", OPENAI_API_KEY: "", OTHER_KEY: "x" };
  const found = await findModels(given, env, []);
  assert.deepEqual(found, [{
    source: "anthropic",
    description: "ANTHROPIC_API_KEY in the environment",
    provider: "anthropic",
    key: "key-1",
  }]);
  assert.deepEqual(given.asked, []);
});

Deno.test("findModels() finds a model server, and sends it no key", () =>
  withEndpoint(list("small", "big"), async (endpoint, port) => {
    const found = await findModels(ports(), { OPENAI_API_KEY: "key-2" }, [port]);
    assert.deepEqual(found.map(({ source }) => source), ["openai", endpoint.baseUrl]);
    assert.deepEqual(found[1]?.models, ["small", "big"]);
    assert.equal(endpoint.requests[0]?.path, "/v1/models");
    assert.equal(endpoint.requests[0]?.headers.get("authorization"), null);
  }));

const NOTHING: readonly [name: string, reply: ModelReply][] = [
  ["a web server", { kind: "garbage", body: "<html>", contentType: "text/html" }],
  ["a server that wants a key", { kind: "status", status: 401 }],
  ["a server without models", list()],
];
for (const [name, reply] of NOTHING) {
  Deno.test(`findModels() does not accept ${name} as a model`, () =>
    withEndpoint(reply, async (_, port) => {
      assert.deepEqual(await findModels(ports(), NO_ENV, [port]), []);
    }));
}

Deno.test("findModels() finds nothing where no server listens", async () => {
  assert.deepEqual(await findModels(ports(), NO_ENV, [1]), []);
});

Deno.test("findModel() finds only the model that is named", async () => {
  const env = { OPENAI_API_KEY: "key-2" };
  assert.equal((await findModel(ports(), env, "openai"))?.key, "key-2");
  assert.equal(await findModel(ports(), env, "anthropic"), undefined);
  assert.equal(await findModel(ports(), env, "http://127.0.0.1:1/v1"), undefined);
  await withEndpoint(list("m"), async ({ baseUrl }) => {
    const found = await findModel(ports(), env, `${baseUrl}/`);
    assert.deepEqual([found?.baseUrl, found?.key], [baseUrl, undefined]);
    assert.ok(found);
    assert.equal(await firstModel(ports(), found), "m");
  });
});

Deno.test("newestModel() picks Anthropic's first and OpenAI's newest general chat model", () => {
  const data = [
    { id: "gpt-4o", created: 5 },
    { id: "gpt-5", created: 7 },
    { id: "gpt-5-mini", created: 8 },
    { id: "gpt-realtime-2", created: 9 },
    { id: "text-embedding-3", created: 9 },
  ];
  const body = JSON.stringify({ data });
  assert.equal(newestModel("anthropic", body), "gpt-4o");
  assert.equal(newestModel("openai", body), "gpt-5-mini");
  assert.equal(newestModel("openai", JSON.stringify({ data: [{ id: "x" }] })), undefined);
});

Deno.test("offerLines() name what was found and the command that uses it, never a key", () => {
  const at = { env: {}, paths: pathsUnder("/srv/fleet") };
  const lines = offerLines(at, [{
    source: "anthropic",
    description: "ANTHROPIC_API_KEY in the environment",
    provider: "anthropic",
    key: "key-1",
  }]);
  assert.equal(lines.length, 1);
  assert.match(
    lines[0] ?? "",
    /^found ANTHROPIC_API_KEY in the environment, not used; to use it: /,
  );
  assert.match(lines[0] ?? "", /--root \/srv\/fleet --model-from anthropic$/);
  assert.ok(!lines[0]?.includes("key-1"));
});
