/**
 * What `status` and `agents set` say about an agent's sandbox.
 *
 * @module
 */

import assert from "node:assert/strict";
import { sandboxProblems, sandboxWarnings } from "cli/agents/sandbox_problems.ts";
import type { HostState } from "core/dial/host_state.ts";
import { BUBBLEWRAP } from "core/sandbox/host_files.ts";
import { memoryFiles } from "tests/fakes/files.ts";
import { agent, facts } from "tests/units/reconcile/fixture.ts";

const base = facts({ ada: [] });
const [builtIn] = base.runtimes.values();
assert.ok(builtIn !== undefined);
const other = { ...builtIn, name: "other", command: "/usr/local/bin/other" };
const here = { runtimes: new Map([...base.runtimes, ["other", other]]) };
const IDLE: HostState = { state: "idle", reason: undefined, sinceMs: 0 };

const CASES = [
  ["nothing without a sandbox in the record", { sandbox: "off" }, IDLE, []],
  ["nothing when it is in force", { sandbox: "on" }, { ...IDLE, sandbox: {} }, []],
  ["an agent that still has to restart", { sandbox: "on" }, IDLE, ["sandbox-not-in-force"]],
  ["nothing about a stopped agent", { sandbox: "on" }, { ...IDLE, state: "stopped" }, []],
  [
    "why it cannot be built",
    { sandbox: "on" },
    { ...IDLE, sandbox: { fault: "bwrap: No permissions" } },
    ["sandbox-not-possible"],
  ],
  [
    "a runtime that runs commands itself",
    { sandbox: "on", runtime: "other" },
    IDLE,
    ["sandbox-not-used"],
  ],
] as const;

for (const [name, record, state, codes] of CASES) {
  Deno.test(`sandboxProblems() returns ${name}`, () => {
    const problems = sandboxProblems(agent("ada", record), state as HostState, here);
    assert.deepEqual(problems.map(({ code }) => code), codes);
  });
}

Deno.test("sandboxWarnings() returns the command that installs bubblewrap", async () => {
  const files = memoryFiles();
  const on = agent("ada", { sandbox: "on" });
  const [warning] = await sandboxWarnings(files, here, on);
  assert.deepEqual(warning?.hints, [
    "apt-get install -y bubblewrap",
    "fleetctl agents restart ada",
  ]);
  await files.ensureDir("/usr/bin");
  await files.write(BUBBLEWRAP, "");
  assert.deepEqual(await sandboxWarnings(files, here, on), []);
});
