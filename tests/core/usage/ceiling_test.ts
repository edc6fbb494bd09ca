/**
 * The text of spend ceilings, and the periods in which they count.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  amountText,
  parseAmount,
  parseCeilings,
  PERIODS,
  printAmount,
  printCeilings,
  stretchOf,
} from "core/usage/ceiling.ts";

const GOOD: readonly (readonly [text: string, normal: string])[] = [
  ["day=5usd", "day=5usd"],
  ["day=5.50USD", "day=5.5usd"],
  ["month=50usd+10usd", "month=50usd+10usd"],
  ["hour=200k-tokens", "hour=200k-tokens"],
  ["hour=200000-tokens", "hour=200k-tokens"],
  ["hour=1500-tokens", "hour=1500-tokens"],
  ["day=2m-tokens + 1m-tokens".replaceAll(" ", ""), "day=2m-tokens+1m-tokens"],
  ["month=50usd, day=5usd, day=1m-tokens", "day=5usd,day=1m-tokens,month=50usd"],
];

for (const [text, normal] of GOOD) {
  Deno.test(`ceilings: "${text}" is "${normal}"`, () => {
    const parsed = parseCeilings(text);
    assert.ok(parsed.ok, JSON.stringify(parsed));
    assert.equal(printCeilings(parsed.value), normal);
  });
}

const BAD: readonly (readonly [text: string, fault: RegExp])[] = [
  ["", /must be ceilings such as day=5usd/],
  ["5usd", /must be ceilings such as day=5usd/],
  ["week=5usd", /must be ceilings such as day=5usd/],
  ["day=0usd", /must be ceilings such as day=5usd/],
  ["day=-5usd", /must be ceilings such as day=5usd/],
  ["day=0.001usd", /must be ceilings such as day=5usd/],
  ["day=1000001usd", /must be ceilings such as day=5usd/],
  ["day=1.5k-tokens", /must be ceilings such as day=5usd/],
  ["day=5usd+2k-tokens", /must be ceilings such as day=5usd/],
  ["day=5usd+", /must be ceilings such as day=5usd/],
  ["day=5usd,day=6usd", /must have at most one ceiling of the day in usd/],
  [`day=5usd${",".repeat(400)}`, /must be shorter/],
];

for (const [text, fault] of BAD) {
  Deno.test(`ceilings: "${text.slice(0, 30)}" is refused`, () => {
    const parsed = parseCeilings(text);
    assert.ok(!parsed.ok);
    assert.equal(parsed.error.code, "ceiling-invalid");
    assert.match(parsed.error.message, fault);
  });
}

Deno.test("a printed amount parses to the same amount", () => {
  const cents = fc.integer({ min: 1, max: 100_000_000 });
  fc.assert(fc.property(cents, (count) => {
    const usd = { unit: "usd", count: count / 100 } as const;
    assert.deepEqual(parseAmount(printAmount(usd)), usd);
    const tokens = { unit: "tokens", count } as const;
    assert.deepEqual(parseAmount(printAmount(tokens)), tokens);
  }));
});

Deno.test("amounts for people have two decimals, or commas between thousands", () => {
  assert.equal(amountText({ unit: "usd", count: 5.021 }), "5.02 USD");
  assert.equal(amountText({ unit: "tokens", count: 1_234_567 }), "1,234,567 tokens");
});

const AT = (text: string) => Date.parse(`${text}Z`);
const STRETCHES: readonly (readonly [
  period: typeof PERIODS[number],
  now: string,
  since: string,
  until: string,
])[] = [
  ["hour", "2026-11-23T20:00:00.000", "2026-11-23T20:00", "2026-11-23T21:00"],
  ["hour", "2026-11-23T20:59:59.999", "2026-11-23T20:00", "2026-11-23T21:00"],
  ["day", "2026-11-23T00:00:00.000", "2026-11-23T00:00", "2026-11-24T00:00"],
  ["day", "2026-11-23T23:59:59.999", "2026-11-23T00:00", "2026-11-24T00:00"],
  ["month", "2026-02-28T23:59:59.999", "2026-02-01T00:00", "2026-03-01T00:00"],
  ["month", "2028-02-29T12:00:00.000", "2028-02-01T00:00", "2028-03-01T00:00"],
  ["month", "2026-12-31T23:59:59.999", "2026-12-01T00:00", "2027-01-01T00:00"],
];

for (const [period, now, since, until] of STRETCHES) {
  Deno.test(`the ${period} of ${now} is ${since} to ${until} UTC`, () => {
    assert.deepEqual(stretchOf(period, AT(now)), { since: AT(since), until: AT(until) });
  });
}

Deno.test("each moment is in one period, and the next period begins where it ends", () => {
  const moment = fc.integer({ min: 0, max: Date.UTC(2100, 0) });
  fc.assert(fc.property(moment, fc.constantFrom(...PERIODS), (now, period) => {
    const { since, until } = stretchOf(period, now);
    assert.ok(since <= now && now < until);
    assert.deepEqual(stretchOf(period, since), { since, until });
    assert.equal(stretchOf(period, until).since, until);
    assert.equal(stretchOf(period, until - 1).since, since);
  }));
});
