/**
 * The process table of the kernel, and which processes belong together.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  findMembers,
  parseStat,
  type ProcessEntry,
  processKey,
  readProcess,
  readTable,
} from "core/os/proc.ts";
import { readVariable } from "units/manager/os/processes/process_table.ts";
import { kernel } from "tests/units/manager/os/rig.ts";

const TAIL = "-1 4194304 80 0 0 0 0 0 0 0 20 0 1 0 4242 2428928 200";

Deno.test("parseStat() is not confused by the name of a program", () => {
  const want = { pid: 77, state: "S", parent: 5, group: 6, session: 7, start: "4242" };
  for (const name of ["sh", "a b", ") R 1 1 1 (", "((", "x\ny"]) {
    assert.deepEqual(parseStat(`77 (${name}) S 5 6 7 0 ${TAIL}\n`), want, name);
  }
  for (const text of ["", "77", "77 (sh) S 5", "x (sh) S 5 6 7 0 " + TAIL, "(sh) S"]) {
    assert.equal(parseStat(text), undefined, text);
  }
});

Deno.test("readTable() sees this process and its parent", () => {
  const table = readTable(kernel);
  const own = table.find((entry) => entry.pid === Deno.pid);
  assert.equal(own?.parent, Deno.ppid);
  assert.deepEqual(readProcess(kernel, Deno.pid)?.start, own?.start);
  assert.equal(readProcess(kernel, 2 ** 22 + 1), undefined);
  assert.equal(readVariable(kernel, Deno.pid, "PATH"), Deno.env.get("PATH"));
  assert.equal(readVariable(kernel, Deno.pid, "PAT"), undefined);
});

Deno.test("kill() refuses the pids that mean every process", () => {
  for (const pid of [0, 1, -1]) assert.throws(() => kernel.kill(pid, 15), RangeError);
});

function entry(pid: number, parent: number, group = pid, session = group): ProcessEntry {
  return { pid, parent, group, session, state: "S", start: String(pid * 10) };
}

const TABLE: readonly ProcessEntry[] = [
  entry(1, 0),
  entry(100, 1),
  entry(200, 100),
  entry(201, 200, 200),
  entry(202, 1, 200),
  entry(203, 202, 203, 203),
  entry(204, 1, 204, 200),
  entry(300, 100),
  entry(400, 1),
];

const MEMBERS: readonly {
  readonly name: string;
  readonly leaders: readonly number[];
  readonly seen: readonly ProcessEntry[];
  readonly want: readonly number[];
}[] = [
  {
    name: "group, session and all descendants",
    leaders: [200],
    seen: [],
    want: [200, 201, 202, 203, 204],
  },
  {
    name: "processes seen before, and their descendants",
    leaders: [],
    seen: [entry(202, 1)],
    want: [202, 203],
  },
  { name: "nobody", leaders: [999], seen: [], want: [] },
  {
    name: "not a pid that another process got since",
    leaders: [],
    seen: [{ ...entry(400, 1), start: "1" }],
    want: [],
  },
];

Deno.test("findMembers() finds the processes of a unit, and no others", () => {
  for (const { name, leaders, seen, want } of MEMBERS) {
    const found = findMembers(TABLE, new Set(leaders), new Set(seen.map(processKey)));
    assert.deepEqual(found.map((one) => one.pid).sort((a, b) => a - b), want, name);
  }
});
