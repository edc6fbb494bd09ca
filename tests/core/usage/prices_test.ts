/**
 * Prices of models: which one is valid on a day, what a cost leaves out, and faults of a file.
 *
 * @module
 */

import assert from "node:assert/strict";
import { pathsUnder } from "core/paths.ts";
import {
  costOf,
  parsePrices,
  type PriceTable,
  readPrices,
  shippedPrices,
} from "core/usage/prices.ts";
import { memoryHost } from "tests/fakes/host.ts";

const PATHS = pathsUnder("/");
const MILLION = 1_000_000;
const TOKENS = { input: MILLION, output: 0, cachedRead: 0, cachedWrite: 0 };

function tableOf(text: string): PriceTable {
  const parsed = parsePrices(text, "prices.yaml");
  if (!parsed.ok) throw new Error(parsed.error.details.join("\n"));
  return parsed.value;
}

const TABLE = tableOf(`
models:
  big:
    source: the vendor
    prompt_tokens_max: 1000
    prices:
      - { from: 2026-10-01, input: 2, output: 20, cached_read: 0.2, cached_write: 2.5 }
      - { from: 2026-01-01, input: 4, output: 40, cached_read: 0.4, cached_write: 5 }
  big-2025-12-31: { source: the vendor, prices: [{ from: 2025-12-31, input: 9, output: 90 }] }
`);

/** Cost of a million input tokens; undefined without a price. */
function inputCost(model: string, day: string): number | undefined {
  return costOf(TABLE, { model, day, tokens: TOKENS, largestInput: 1 })?.usd;
}

Deno.test("costOf() uses the price that is valid on the day", () => {
  const rows = [
    ["big", "2025-12-31", undefined],
    ["big", "2026-01-01", 4],
    ["big", "2026-09-30", 4],
    ["big", "2026-10-01", 2],
    ["big", "2030-01-01", 2],
  ] as const;
  for (const [model, day, usd] of rows) assert.equal(inputCost(model, day), usd, `${model} ${day}`);
});

Deno.test("costOf() knows a model by its id, with its vendor, a date or a window", () => {
  const rows = [
    ["big-20260101", 2],
    ["big-2026-01-01", 2],
    ["big[1m]", 2],
    ["big-20260101[1m]", 2],
    ["anthropic/big", 2],
    ["openai/big-20260101[1m]", 2],
    // An entry of the exact id comes first.
    ["big-2025-12-31", 9],
    ["bigger", undefined],
    ["big-2", undefined],
    ["big-fast", undefined],
    ["vendor/big", undefined],
    ["openrouter/anthropic/big", undefined],
    ["bigopenai/", undefined],
    ["BIG", undefined],
    ["", undefined],
    ["__proto__", undefined],
  ] as const;
  for (const [model, usd] of rows) assert.equal(inputCost(model, "2026-11-22"), usd, model);
});

Deno.test("costOf() prices each kind of token, and lists what it leaves out", () => {
  const cost = (model: string, largestInput: number) =>
    costOf(TABLE, {
      model,
      day: "2026-11-22",
      tokens: { input: 1_000, output: 100, cachedRead: 10_000, cachedWrite: 2_000 },
      largestInput,
    });
  assert.deepEqual(cost("big", 1_000), { usd: 0.011, lacksPrice: false, mayBeLong: false });
  assert.deepEqual(cost("big", 1_001), { usd: 0.011, lacksPrice: false, mayBeLong: true });
  assert.deepEqual(cost("big-2025-12-31", 1_001), {
    usd: 0.018,
    lacksPrice: true,
    mayBeLong: false,
  });
});

const FAULTS: readonly (readonly [text: string, fault: RegExp])[] = [
  ["model: {}", /prices.yaml:1: model: unknown key, must be one of models/],
  ["models: []", /models: is a list, must be a mapping/],
  ["models: { m: { prices: [{ from: 2026-01-01, input: 1, output: 1 }] } }", /has no source/],
  ["models: { m: { source: s } }", /models.m: has no prices, must have one/],
  ["models: { m: { source: s, prices: 3 } }", /models.m.prices: is the number 3/],
  ["models: { m: { source: s, url: u } }", /models.m.url: unknown key/],
  ["models: { m: { source: s, prompt_tokens_max: 0.5 } }", /prompt_tokens_max: is "0.5"/],
  [price("{ input: 1, output: 1 }"), /prices\[0\]: has no from, must be a date/],
  [price("{ from: 2026-02-30, input: 1, output: 1 }"), /from: is "2026-02-30", must be a date/],
  [price("{ from: 2026-1-1, input: 1, output: 1 }"), /from: is "2026-1-1", must be a date/],
  [price("{ from: 2026-01-01, output: 1 }"), /prices\[0\]: has no input, must be USD/],
  [price("{ from: 2026-01-01, input: -1, output: 1 }"), /input: is not a price, must be USD/],
  [price("{ from: 2026-01-01, input: .nan, output: 1 }"), /input: is not a price/],
  [price("{ from: 2026-01-01, input: .inf, output: 1 }"), /input: is not a price/],
  [price('{ from: 2026-01-01, input: "1", output: 1 }'), /input: is not a price/],
  [price("{ from: 2026-01-01, input: 1, output: 2000000 }"), /output: is not a price/],
  [price("{ from: 2026-01-01, input: 1, output: 1, cache: 1 }"), /cache: unknown key/],
  [
    price("{ from: 2026-01-01, input: 1, output: 1 }, { from: 2026-01-01, input: 2, output: 1 }"),
    /prices\[1\]: a price from 2026-01-01 appears twice/,
  ],
];

function price(entries: string): string {
  return `models: { m: { source: s, prices: [${entries}] } }`;
}

for (const [text, fault] of FAULTS) {
  Deno.test(`parsePrices() refuses ${text}`, () => {
    const parsed = parsePrices(text, "prices.yaml");
    assert.ok(!parsed.ok);
    assert.equal(parsed.error.code, "prices-invalid");
    assert.match(parsed.error.details.join("\n"), fault);
  });
}

Deno.test("the shipped prices can be read, and cost nothing only for the demo model", () => {
  const free = [...shippedPrices()].flatMap(([model, { prices }]) =>
    prices.some(({ input, output }) => input === 0 || output === 0) ? [model] : []
  );
  assert.deepEqual(free, ["demo"]);
  const cost = (day: string) =>
    costOf(shippedPrices(), {
      model: "claude-sonnet-5-5",
      day,
      tokens: { input: 0, output: 0, cachedRead: MILLION, cachedWrite: 0 },
      largestInput: MILLION,
    })?.usd;
  assert.deepEqual([cost("2026-10-06"), cost("2026-10-07")], [0.2, 0.1]);
});

Deno.test("readPrices() replaces the shipped models that the host's file names", async () => {
  const read = async (text?: string) => {
    const files = text === undefined ? {} : { [PATHS.pricesFile]: text };
    return await readPrices(memoryHost({ files }).files, PATHS);
  };
  const shipped = await read();
  assert.deepEqual(shipped, { ok: true, value: shippedPrices() });
  const own = await read(
    "models: { demo: { source: us, prices: [{ from: 2026-01-01, input: 1, output: 2 }] } }",
  );
  assert.ok(own.ok);
  assert.equal(own.value.size, shippedPrices().size);
  assert.deepEqual(own.value.get("demo"), {
    source: "us",
    prices: [{ from: "2026-01-01", input: 1, output: 2 }],
  });
  const empty = await read("");
  assert.ok(empty.ok && empty.value.size === shippedPrices().size);
  const broken = await read("models: [");
  assert.ok(!broken.ok && broken.error.code === "yaml-invalid");
});
