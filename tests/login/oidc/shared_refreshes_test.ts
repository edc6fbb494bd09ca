/**
 * Refreshes in progress: requests with the same reference share one outcome, however long it takes.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createSharedRefreshes, type RefreshOutcome } from "login/oidc/shared_refreshes.ts";
import { fakeClock } from "tests/fakes/clock.ts";

const REFUSED: RefreshOutcome = { kind: "refused" };

Deno.test("share() runs a slow refresh once, and remembers it from its end on", async () => {
  const clock = fakeClock();
  const { share } = createSharedRefreshes(clock);
  const gate = Promise.withResolvers<RefreshOutcome>();
  let runs = 0;
  const work = () => {
    runs++;
    return gate.promise;
  };
  const rows: readonly (readonly [string, () => unknown, number])[] = [
    ["at once", () => {}, 1],
    ["long after its start, still under way", () => clock.advance(60_000), 1],
    ["once it has settled", () => gate.resolve(REFUSED), 1],
    ["a little before it is forgotten", () => clock.advance(9_999), 1],
    ["when it is forgotten", () => clock.advance(1), 2],
  ];
  const outcomes: Promise<RefreshOutcome>[] = [];
  for (const [when, wait, wanted] of rows) {
    await wait();
    outcomes.push(share("reference", work));
    assert.equal(runs, wanted, when);
  }
  assert.deepEqual(await Promise.all(outcomes), outcomes.map(() => REFUSED));
});

Deno.test("share() keeps references apart; a failed refresh fails for all callers", async () => {
  const { share } = createSharedRefreshes(fakeClock());
  const broken = () => Promise.reject(new Error("broken"));
  const both = [share("a", broken), share("a", () => Promise.resolve(REFUSED))];
  for (const one of both) await assert.rejects(one, /broken/);
  assert.deepEqual(await share("b", () => Promise.resolve(REFUSED)), REFUSED);
});
