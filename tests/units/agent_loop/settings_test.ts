/**
 * Which model the settings select, and which faults they can have.
 *
 * @module
 */

import assert from "node:assert/strict";
import { RUNTIME_VARIABLES } from "core/runtimes/model_choice.ts";
import { readRuntimeSettings, RUNTIME_SETTINGS } from "units/agent_loop/settings.ts";

const GOOD: readonly (readonly [Record<string, string>, string, string | undefined])[] = [
  [{}, "demo", undefined],
  [{ ANTHROPIC_API_KEY: "a" }, "demo", undefined],
  [{ FLEETCTL_MODEL: "m" }, "demo", undefined],
  [{ ANTHROPIC_API_KEY: "a", FLEETCTL_MODEL: "m" }, "anthropic", "a"],
  [{ OPENAI_API_KEY: "o", FLEETCTL_MODEL: "m" }, "openai", "o"],
  [
    { FLEETCTL_PROVIDER: "anthropic", ANTHROPIC_API_KEY: "a", FLEETCTL_MODEL: "m" },
    "anthropic",
    "a",
  ],
  [
    {
      FLEETCTL_PROVIDER: "anthropic",
      ANTHROPIC_API_KEY: "a",
      FLEETCTL_MODEL_KEY: "k",
      FLEETCTL_MODEL: "m",
    },
    "anthropic",
    "k",
  ],
  [
    { FLEETCTL_BASE_URL: "http://127.0.0.1:1/v1", FLEETCTL_MODEL: "m" },
    "openai-compatible",
    undefined,
  ],
  [{ FLEETCTL_PROVIDER: "demo", ANTHROPIC_API_KEY: "a" }, "demo", undefined],
];

for (const [env, provider, key] of GOOD) {
  Deno.test(`readRuntimeSettings() selects ${provider} by ${Object.keys(env).join(", ")}`, () => {
    const read = readRuntimeSettings(env);
    assert.ok(read.ok);
    assert.equal(read.value.model.provider, provider);
    assert.equal(read.value.model.key, key);
    assert.equal(read.value.model.accepts.includes("pdf"), /^(anthropic|openai)$/.test(provider));
    assert.equal(read.value.model.accepts.includes("image"), provider !== "demo");
  });
}

const BAD: readonly (readonly [Record<string, string>, readonly RegExp[]])[] = [
  [{ FLEETCTL_PROVIDER: "oracle" }, [/FLEETCTL_PROVIDER.*"anthropic" or "openai"/]],
  [{ FLEETCTL_PROVIDER: "openai" }, [/FLEETCTL_MODEL: not set/, /OPENAI_API_KEY: not set/]],
  [
    { FLEETCTL_PROVIDER: "openai-compatible", FLEETCTL_MODEL: "m" },
    [/FLEETCTL_BASE_URL: not set/],
  ],
  [{ FLEETCTL_BASE_URL: "ftp://x" }, [/FLEETCTL_BASE_URL/]],
  [{ FLEETCTL_CONTEXT_TOKENS: "many" }, [/FLEETCTL_CONTEXT_TOKENS/]],
  [{ FLEETCTL_STEPS: "0" }, [/FLEETCTL_STEPS/]],
  [{ FLEETCTL_STEPS: "1001" }, [/FLEETCTL_STEPS/]],
  [{ FLEETCTL_EFFORT: "most" }, [/FLEETCTL_EFFORT.*"low"/]],
];

for (const [env, faults] of BAD) {
  Deno.test(`readRuntimeSettings() refuses ${JSON.stringify(env)}`, () => {
    const read = readRuntimeSettings(env);
    assert.ok(!read.ok);
    assert.equal(read.error.code, "settings-invalid");
    faults.forEach((fault, index) => assert.match(read.error.details[index] ?? "", fault));
  });
}

Deno.test("readRuntimeSettings() drops a URL's last slash, reads the window size", () => {
  const read = readRuntimeSettings({
    FLEETCTL_BASE_URL: "https://model.example/v1/",
    FLEETCTL_MODEL: "m",
    FLEETCTL_CONTEXT_TOKENS: "8000",
  });
  assert.ok(read.ok);
  assert.equal(read.value.model.baseUrl, "https://model.example/v1");
  assert.equal(read.value.model.contextTokens, 8_000);
});

Deno.test("RUNTIME_VARIABLES names every setting of the runtime", () => {
  assert.deepEqual(
    [...RUNTIME_VARIABLES].sort(),
    Object.values(RUNTIME_SETTINGS).map(({ name }) => name).sort(),
  );
});
