/**
 * The counter of failed attempts: its window, its size limit, and parallel attempts.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { LOGIN_LIMITS } from "core/limits/login.ts";
import { clientKeys, parseIp } from "core/net/ip.ts";
import { createAttempts } from "login/basic/attempts.ts";
import { fakeClock } from "tests/fakes/clock.ts";

const isAccount = (name: string) => name === "mia" || name === "bob";

Deno.test("begin() allows at most eight failures in any minute", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ wait: fc.integer({ min: 0, max: 20_000 }), isRight: fc.boolean() }), {
        maxLength: 80,
      }),
      async (tries) => {
        const clock = fakeClock();
        const attempts = createAttempts(clock, isAccount);
        const failed: number[] = [];
        for (const { wait, isRight } of tries) {
          await clock.advance(wait);
          const now = clock.monotonic();
          const recent = failed.filter((at) => now - at < 60_000).length;
          const attempt = attempts.begin(["a"], "mia");
          assert.equal("retryAfterSeconds" in attempt, recent >= 8);
          if ("retryAfterSeconds" in attempt) {
            assert.ok(attempt.retryAfterSeconds >= 1 && attempt.retryAfterSeconds <= 60);
          } else if (isRight) attempt.forgive();
          else failed.push(now);
        }
      },
    ),
    { numRuns: 200 },
  );
});

Deno.test("begin() remembers a bounded number of clients, the most recent ones", () => {
  const clock = fakeClock();
  const attempts = createAttempts(clock, isAccount);
  for (let count = 0; count < 8; count++) attempts.begin(["busy"], "bob");
  for (let client = 0; client < LOGIN_LIMITS.clientsKept * 2; client++) {
    attempts.begin([`client ${client}`], `nobody ${client}`);
    if (client % 1_000 === 0) attempts.begin(["busy"], "bob");
  }
  assert.ok(attempts.size() <= LOGIN_LIMITS.clientsKept + LOGIN_LIMITS.unknownBuckets + 1);
  assert.ok("retryAfterSeconds" in attempts.begin(["busy"], "x"), "who continues is not forgotten");
});

Deno.test("an account has a limit for strangers, but not for a recent successful client", () => {
  const attempts = createAttempts(fakeClock(), isAccount);
  const own = attempts.begin(["home"], "mia");
  assert.ok("forgive" in own);
  own.forgive();
  let refused = 0;
  for (let client = 0; client < 1_000; client++) {
    if ("retryAfterSeconds" in attempts.begin([`client ${client}`], "mia")) refused++;
  }
  assert.equal(refused, 1_000 - LOGIN_LIMITS.accountFailuresMax);
  assert.ok("forgive" in attempts.begin(["home"], "mia"), "its owner is not locked out");
  assert.ok("forgive" in attempts.begin(["other"], "bob"), "nor is anybody else");
});

Deno.test("an unknown name is limited like a known one", () => {
  const attempts = createAttempts(fakeClock(), isAccount);
  const passedOf = (name: string) => {
    let passed = 0;
    for (let client = 0; client < 100; client++) {
      if ("forgive" in attempts.begin([`${name} ${client}`], name)) passed++;
    }
    return passed;
  };
  assert.equal(passedOf("nobody"), passedOf("mia"));
});

Deno.test("the networks around an IPv6 client have rising limits", () => {
  const passedOf = (addresses: readonly string[]) => {
    const attempts = createAttempts(fakeClock(), isAccount);
    return addresses.filter((text, index) =>
      "forgive" in attempts.begin(clientKeys(parseIp(text)!), `nobody ${index}`)
    ).length;
  };
  const hex = (count: number) => count.toString(16);
  const range = (make: (index: number) => string) =>
    Array.from({ length: 512 }, (_, index) => make(index));
  assert.equal(passedOf(range((one) => `2001:db8:0:1::${hex(one + 1)}`)), 8, "one /64");
  assert.equal(passedOf(range((one) => `2001:db8:0:${hex(one % 256)}::1`)), 32, "one /56");
  assert.equal(passedOf(range((one) => `2001:db8:0:${hex(one * 128)}::1`)), 128, "one /48");
  assert.equal(passedOf(range((one) => `2001:db8:${hex(one)}::1`)), 512, "many sites");
  assert.equal(passedOf(range((one) => `::ffff:1.2.3.${one % 2}`)), 16, "mapped IPv4");
});

Deno.test("forgive() removes one attempt, however often it is called", () => {
  const attempts = createAttempts(fakeClock(), isAccount);
  const first = attempts.begin(["a"], "mia");
  assert.ok("forgive" in first);
  for (let count = 0; count < 7; count++) attempts.begin(["a"], "mia");
  first.forgive();
  first.forgive();
  assert.ok("forgive" in attempts.begin(["a"], "mia"));
  assert.ok("retryAfterSeconds" in attempts.begin(["a"], "mia"));
});
