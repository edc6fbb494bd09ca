/**
 * The state of an agent on its host: every row of the table in `core/dial/host_state.ts`, and state
 * files that dial units do not write.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { AGENT_STATES } from "core/dial/event.ts";
import {
  type HostState,
  parseReportedState,
  printReportedState,
  type ReportedState,
  stateOnHost,
} from "core/dial/host_state.ts";
import type { UnitStatus } from "core/ports/unit.ts";

const NOW = 1_000_000;
const UNIT: UnitStatus = {
  unit: "fleetctl-dial-ada.service",
  load: "loaded",
  active: "active",
  mainPid: 7,
  since: 900_000,
  reason: undefined,
  restarts: 0,
};
const REPORTED: ReportedState = {
  startedMs: 900_020,
  state: "working",
  sinceMs: 950_000,
  reason: undefined,
};

interface Row {
  readonly name: string;
  readonly unit?: Partial<UnitStatus> | "none";
  readonly reported?: Partial<ReportedState>;
  readonly stopped?: string;
  readonly now?: number;
  readonly want: readonly [HostState["state"], string | undefined, number | undefined];
}

const ROWS: readonly Row[] = [
  { name: "no manager", unit: "none", want: ["stopped", "no service manager runs", undefined] },
  {
    name: "no unit",
    unit: { load: "not-found", active: "inactive" },
    want: ["stopped", "its unit is not installed", undefined],
  },
  {
    name: "a unit that is down",
    unit: { active: "inactive" },
    want: ["stopped", "its unit is not running", 900_000],
  },
  {
    name: "a unit that was stopped on purpose",
    unit: { active: "inactive" },
    stopped: "1970-01-01T00:10:00Z",
    want: ["stopped", "by an operator", 600_000],
  },
  {
    name: "a unit that is to be stopped and still runs",
    reported: {},
    stopped: "1970-01-01T00:10:00Z",
    want: ["working", undefined, 950_000],
  },
  {
    name: "a unit that starts",
    unit: { active: "activating" },
    want: ["starting", undefined, 900_000],
  },
  {
    name: "a unit that waits after a fault",
    unit: { active: "activating", reason: "exit-code 1" },
    want: ["failed", "exit-code 1, restarting", 900_000],
  },
  {
    name: "a unit that ends",
    unit: { active: "deactivating" },
    want: ["stopping", undefined, 900_000],
  },
  {
    name: "a unit that failed",
    unit: { active: "failed", reason: "signal SIGKILL" },
    want: ["failed", "signal SIGKILL", 900_000],
  },
  ...AGENT_STATES.map((state): Row => ({
    name: `a unit that reports ${state}`,
    reported: { state, reason: "why" },
    want: [state, "why", 950_000],
  })),
  {
    name: "a new unit that has reported nothing",
    now: 901_000,
    want: ["starting", undefined, 900_000],
  },
  {
    name: "an old unit that has reported nothing",
    want: ["idle", "its dial unit reports no state", 900_000],
  },
  {
    name: "a report of the previous run",
    reported: { startedMs: 800_000 },
    now: 901_000,
    want: ["starting", undefined, 900_000],
  },
  {
    name: "a report at the very start",
    reported: { startedMs: 899_500 },
    want: ["working", undefined, 950_000],
  },
];

for (const { name, unit, reported, stopped, now, want } of ROWS) {
  Deno.test(`stateOnHost() returns ${want[0]} for ${name}`, () => {
    const got = stateOnHost({
      stopped,
      unit: unit === "none" ? undefined : { ...UNIT, ...unit },
      reported: reported === undefined ? undefined : { ...REPORTED, ...reported },
      now: now ?? NOW,
    });
    assert.deepEqual([got.state, got.reason, got.sinceMs], want);
  });
}

Deno.test("parseReportedState() reads what printReportedState() wrote", () => {
  for (const reported of [REPORTED, { ...REPORTED, reason: 'model\nis "down"' }]) {
    assert.deepEqual(parseReportedState(printReportedState(reported)), reported);
  }
});

const BAD = [
  "",
  "null",
  "[]",
  "{",
  '{"started":1,"state":"sleeping","since":1}',
  '{"started":1,"state":"__proto__","since":1}',
  '{"started":-1,"state":"idle","since":1}',
  '{"started":1,"state":"idle","since":1e300}',
  '{"started":"1","state":"idle","since":1}',
  '{"started":1,"state":"idle","since":1,"reason":{}}',
];
for (const text of BAD) {
  Deno.test(`parseReportedState() returns undefined for ${text}`, () => {
    assert.equal(parseReportedState(text), undefined);
  });
}

Deno.test("parseReportedState() never throws, and never returns a long reason", () => {
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
    assert.ok((parseReportedState(text)?.reason?.length ?? 0) <= 500);
  }));
  const long = printReportedState({ ...REPORTED, reason: "x".repeat(10_000) });
  assert.equal(parseReportedState(long)?.reason?.length, 500);
});
