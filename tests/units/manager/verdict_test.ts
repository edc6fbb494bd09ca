/**
 * How the outcome of a run is classified, and when another run follows.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { RestartPolicy } from "units/manager/units/service_spec.ts";
import {
  failureOf,
  restartDelayMs,
  type RunEnd,
  shouldRestart,
  StartLimit,
} from "units/manager/verdict.ts";

const POLICY: RestartPolicy = {
  when: "on-failure",
  firstMs: 100,
  maxMs: undefined,
  steps: 0,
  prevent: new Set(),
  force: new Set(),
  success: new Set(),
  burst: 3,
  intervalMs: 1000,
};

function code(value: number): RunEnd {
  return { exit: { code: value, signal: undefined }, cause: undefined, detail: "" };
}
function signal(value: string): RunEnd {
  return { exit: { code: undefined, signal: value }, cause: undefined, detail: "" };
}
const TIMEOUT: RunEnd = { ...signal("SIGTERM"), cause: "timeout", detail: "not ready within 5 s" };
const MEMORY: RunEnd = { ...signal("SIGKILL"), cause: "memory-limit", detail: "9 MiB of 8 MiB" };

const ENDS: readonly {
  readonly end: RunEnd;
  readonly failure: string | undefined;
  readonly restarts: string;
}[] = [
  { end: code(0), failure: undefined, restarts: "always on-success" },
  { end: signal("SIGTERM"), failure: undefined, restarts: "always on-success" },
  { end: code(1), failure: "exit-code 1", restarts: "always on-failure" },
  {
    end: signal("SIGSEGV"),
    failure: "signal SIGSEGV",
    restarts: "always on-failure on-abnormal on-abort",
  },
  {
    end: TIMEOUT,
    failure: "timeout not ready within 5 s",
    restarts: "always on-failure on-abnormal",
  },
  {
    end: MEMORY,
    failure: "memory-limit 9 MiB of 8 MiB",
    restarts: "always on-failure on-abnormal on-abort",
  },
  {
    end: { exit: undefined, cause: "resources", detail: "no file" },
    failure: "resources no file",
    restarts: "always on-failure",
  },
];
const WHENS = ["no", "always", "on-success", "on-failure", "on-abnormal", "on-abort"] as const;

Deno.test("shouldRestart() and failureOf() follow the table of systemd", () => {
  for (const { end, failure, restarts } of ENDS) {
    assert.equal(failureOf(POLICY, end), failure);
    const yes = WHENS.filter((when) => shouldRestart({ ...POLICY, when }, end));
    assert.equal(yes.join(" "), restarts, JSON.stringify(end));
  }
});

Deno.test("exit statuses that a unit names count before the table", () => {
  const policy: RestartPolicy = {
    ...POLICY,
    when: "always",
    prevent: new Set([2, "SIGUSR1"]),
    success: new Set([7]),
  };
  assert.equal(shouldRestart(policy, code(2)), false);
  assert.equal(shouldRestart(policy, signal("SIGUSR1")), false);
  assert.equal(failureOf(policy, code(7)), undefined);
  assert.equal(shouldRestart({ ...POLICY, when: "no", force: new Set([9]) }, code(9)), true);
});

Deno.test("restartDelayMs() doubles up to its bound, or climbs in steps", () => {
  const delays = (policy: RestartPolicy) =>
    [0, 1, 2, 3, 40].map((count) => Math.round(restartDelayMs(policy, count)));
  assert.deepEqual(delays(POLICY), [100, 200, 400, 800, 30_000]);
  assert.deepEqual(delays({ ...POLICY, maxMs: 300 }), [100, 200, 300, 300, 300]);
  assert.deepEqual(delays({ ...POLICY, firstMs: 60_000 }), [
    60_000,
    60_000,
    60_000,
    60_000,
    60_000,
  ]);
  assert.deepEqual(delays({ ...POLICY, firstMs: 0 }), [0, 0, 0, 0, 0]);
  assert.deepEqual(
    delays({ ...POLICY, firstMs: 1_000, maxMs: 8_000, steps: 3 }),
    [1_000, 2_000, 4_000, 8_000, 8_000],
  );
});

Deno.test("StartLimit counts starts within the interval, and can be reset", () => {
  const limit = new StartLimit();
  const taken = [0, 10, 20, 30, 999, 1_000, 1_005].map((now) => limit.take(POLICY, now));
  assert.deepEqual(taken, [true, true, true, false, false, true, false]);
  limit.reset();
  assert.equal(limit.take(POLICY, 1_006), true);
  assert.equal(new StartLimit().take({ ...POLICY, burst: 0 }, 0), true);
});
