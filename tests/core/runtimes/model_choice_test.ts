/**
 * Which secrets a model choice changes, which choices are refused, and that a key never moves with
 * an agent to another endpoint.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { AgentName, KeyName } from "core/names.ts";
import {
  decideModel,
  modelCard,
  type ModelChoice,
  modelText,
  storedModel,
} from "core/runtimes/model_choice.ts";
import { NO_SECRETS, type SecretShards, withSecret } from "core/secrets/shards.ts";

const ADA = { name: "ada" as AgentName };
const LONG = "sk-0123456789abcdefghijWXYZ";

function shardsOf(
  own: Readonly<Record<string, string>>,
  shared: Readonly<Record<string, string>> = {},
): SecretShards {
  const map = (of: Readonly<Record<string, string>>) =>
    new Map(Object.entries(of).map(([key, value]) => [key as KeyName, value]));
  return { shared: map(shared), agents: new Map([[ADA.name, map(own)]]) };
}

function decide(choice: ModelChoice, shards: SecretShards = NO_SECRETS) {
  return decideModel(choice, { shards, agent: ADA.name, stored: storedModel(shards, ADA) });
}

/** Returns the secret shards after a choice. */
function after(choice: ModelChoice, shards: SecretShards): SecretShards {
  const decided = decide(choice, shards);
  assert.ok(decided.ok, JSON.stringify(decided));
  let next = shards;
  for (const [key, value] of decided.value.secrets) {
    const changed = withSecret(next, { key, agent: ADA.name }, value);
    assert.ok(changed.ok);
    next = changed.value;
  }
  return next;
}

const STORED: readonly [
  name: string,
  shards: SecretShards,
  record: { readonly provider?: string; readonly model?: string },
  want: string,
][] = [
  ["nothing", NO_SECRETS, {}, "demo undefined undefined undefined"],
  [
    "an old key alone",
    shardsOf({ ANTHROPIC_API_KEY: "k" }),
    {},
    "demo undefined undefined undefined",
  ],
  [
    "a record and a key",
    shardsOf({ ANTHROPIC_API_KEY: "k" }),
    { provider: "anthropic", model: "m" },
    "anthropic m https://api.anthropic.com/v1 k",
  ],
  [
    "a model and one key",
    shardsOf({ OPENAI_API_KEY: "k" }),
    { model: "m" },
    "openai m https://api.openai.com/v1 k",
  ],
  [
    "an address of the host, a key of the host",
    shardsOf({ FLEETCTL_MODEL: "m" }, {
      FLEETCTL_BASE_URL: "http://h/v1",
      FLEETCTL_MODEL_KEY: "k",
    }),
    {},
    "openai-compatible m http://h/v1 k",
  ],
  [
    "a secret above the record",
    shardsOf({ FLEETCTL_PROVIDER: "openai", FLEETCTL_MODEL: "n", OPENAI_API_KEY: "o" }),
    { provider: "anthropic", model: "m" },
    "openai n https://api.openai.com/v1 o",
  ],
];
for (const [name, shards, record, want] of STORED) {
  Deno.test(`storedModel() reads ${name}`, () => {
    const { provider, model, baseUrl, key } = storedModel(shards, { ...ADA, ...record });
    assert.equal(`${provider} ${model} ${baseUrl} ${key}`, want);
  });
}

const REFUSED: readonly [choice: ModelChoice, details: readonly RegExp[]][] = [
  [{ provider: "anthropic", model: "", key: "" }, [/^model: is empty/, /^key: is empty/]],
  [{ provider: "openai", model: "a b", key: "x\ny" }, [/^model: must/, /^key: must/]],
  [{ provider: "openai", model: "m".repeat(201), key: "k" }, [/^model: must/]],
  [
    { provider: "openai", model: "m", key: "k", baseUrl: "http://other/v1" },
    [/^base_url: must begin with https:\/\/ \(http:\/\/ only to loopback\)/],
  ],
  [
    { provider: "anthropic", model: "m", baseUrl: "https://other/v1" },
    [/^key: is empty, must be a key of anthropic at https:\/\/other\/v1/],
  ],
  [{ provider: "openai-compatible", model: "m" }, [/^base_url: is empty/]],
  [{ provider: "openai-compatible", model: "m", baseUrl: "models" }, [/^base_url: is not a URL/]],
  [{ provider: "openai-compatible", model: "m", baseUrl: "file:///x" }, [/^base_url: must begin/]],
  [{ provider: "openai-compatible", model: "m", baseUrl: "http://u:p@h/" }, [
    /must not contain a user name or password/,
  ]],
  [{ provider: "openai-compatible", model: "m", baseUrl: "http://h/?k=1" }, [
    /must not contain \? or #/,
  ]],
];
for (const [choice, details] of REFUSED) {
  Deno.test(`decideModel() refuses ${JSON.stringify(choice).slice(0, 80)}`, () => {
    const decided = decide(choice);
    assert.ok(!decided.ok);
    assert.equal(decided.error.code, "model-choice-invalid");
    assert.equal(decided.error.details.length, details.length, decided.error.details.join("; "));
    details.forEach((pattern, at) => assert.match(decided.error.details[at] ?? "", pattern));
  });
}

Deno.test("decideModel() stores a complete choice; no value of the shared shard mixes in", () => {
  const shared = { FLEETCTL_BASE_URL: "http://house/v1", FLEETCTL_MODEL_KEY: "house" };
  const next = after({ provider: "anthropic", model: "m", key: LONG }, shardsOf({}, shared));
  const { baseUrl, key } = storedModel(next, ADA);
  assert.deepEqual([baseUrl, key], ["https://api.anthropic.com/v1", LONG]);
  const local = after({ provider: "openai-compatible", model: "m", baseUrl: "http://l/v1" }, next);
  assert.equal(storedModel(local, ADA).key, undefined);
});

Deno.test("decideModel() keeps a stored key for another model of the same endpoint", () => {
  const shards = shardsOf({ FLEETCTL_PROVIDER: "openai", FLEETCTL_MODEL: "m" }, {
    OPENAI_API_KEY: "house",
  });
  const next = after({ provider: "openai", model: "n" }, shards);
  assert.equal(storedModel(next, ADA).model, "n");
  assert.equal(next.agents.get(ADA.name)?.has("OPENAI_API_KEY" as KeyName), false);
});

Deno.test("decideModel() returns to the demo model, and keeps keys that MCPs may use", () => {
  const given = after({ provider: "openai", model: "m", key: LONG }, NO_SECRETS);
  const next = after({ provider: "demo" }, given);
  assert.equal(storedModel(next, ADA).provider, "demo");
  assert.equal(next.agents.get(ADA.name)?.get("OPENAI_API_KEY" as KeyName), LONG);
});

Deno.test("no sequence of choices sends a key to an endpoint that it was not given for", () => {
  const step = fc.record({
    provider: fc.constantFrom("anthropic", "openai", "openai-compatible", "demo"),
    baseUrl: fc.constantFrom(undefined, "http://a/v1", "https://b/v1", "http://127.0.0.1:9/v1"),
    hasKey: fc.boolean(),
  });
  const house = fc.constantFrom({}, { FLEETCTL_MODEL_KEY: "house-key" });
  fc.assert(fc.property(fc.array(step, { maxLength: 12 }), house, (steps, shared) => {
    let shards = shardsOf({}, shared);
    steps.forEach(({ provider, baseUrl, hasKey }, at) => {
      const target = baseUrl ?? provider;
      const key = hasKey ? `key-${at}-for-${target}` : undefined;
      const choice = { provider, model: "m", baseUrl, key } as ModelChoice;
      if (!decide(choice, shards).ok) return;
      shards = after(choice, shards);
      const now = storedModel(shards, ADA);
      if (now.key === undefined) return;
      const isVendor = /\/\/api\.(anthropic|openai)\.com\//.test(now.baseUrl ?? "");
      const place = isVendor ? now.provider : now.baseUrl;
      assert.ok(now.key.endsWith(`-for-${place}`), `${now.key} at ${place}`);
    });
  }));
});

Deno.test("modelCard() shows the end of a long key and nothing of a short one", () => {
  const model = { provider: "openai", model: "m", baseUrl: "https://api.openai.com/v1" } as const;
  const long = modelCard({ ...model, key: LONG });
  assert.deepEqual([long.key, long.key_ends_with], ["set", "WXYZ"]);
  assert.equal(modelCard({ ...model, key: "short-key" }).key_ends_with, null);
  assert.ok(!JSON.stringify(long).includes(LONG));
  assert.equal(modelText(long), "m at openai");
});
