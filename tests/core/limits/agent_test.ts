/**
 * Limits of agents: the defaults of small and large hosts, their stability, and the texts of
 * limits.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  defaultLimits,
  fillLimits,
  LIMIT_ROWS,
  limitsFault,
  parseLimit,
  printLimit,
} from "core/limits/agent.ts";

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/** Memory as such machines report it, in MiB. Then the resulting limits, in MiB and tasks. */
const HOSTS = [
  // memory, all agents: memory, tasks, one agent: memory, tasks
  [980, 1, 448, 2_048, 448, 1_024],
  [1_980, 1, 1_408, 5_632, 1_024, 1_024],
  [1_980, 4, 1_408, 5_632, 704, 1_024],
  [1_980, 300, 1_408, 5_632, 512, 1_024],
  [24_000, 1, 20_480, 81_920, 15_360, 8_192],
  [24_000, 16, 20_480, 81_920, 5_120, 8_192],
  [24_000, 300, 20_480, 81_920, 640, 8_192],
  [515_000, 1, 491_520, 262_144, 360_448, 8_192],
  [515_000, 300, 491_520, 262_144, 15_360, 8_192],
] as const;

Deno.test("defaults follow from the memory of the host and the number of agents", () => {
  for (const [memory, agents, all, allTasks, agent, tasks] of HOSTS) {
    const limits = defaultLimits({ memoryBytes: memory * MIB, agents });
    const seen = [
      limits.all.memoryMaxBytes / MIB,
      limits.all.tasksMax,
      limits.agent.memoryMaxBytes / MIB,
      limits.agent.tasksMax,
    ];
    assert.deepEqual(seen, [all, allTasks, agent, tasks], `${memory} MiB, ${agents} agents`);
  }
});

Deno.test("on every host, memory is reserved for it and each agent can start", () => {
  for (let memory = 256; memory < 2_000_000; memory = Math.floor(memory * 1.17)) {
    for (const agents of [0, 1, 2, 3, 5, 17, 300, 1_000, 10_000]) {
      const { all, agent } = defaultLimits({ memoryBytes: memory * MIB, agents });
      const words = `${memory} MiB, ${agents} agents`;
      const kept = memory - all.memoryMaxBytes / MIB;
      assert.ok(kept >= Math.min(512, memory / 2), `${words}: ${kept} MiB are kept`);
      assert.ok(kept >= Math.min(memory / 8, 16 * 1024) - 1, `${words}: ${kept} MiB are kept`);
      assert.ok(agent.memoryMaxBytes <= all.memoryMaxBytes, words);
      assert.ok(agent.memoryMaxBytes >= Math.min(512 * MIB, all.memoryMaxBytes), words);
      for (const limits of [all, agent]) {
        assert.ok(limits.memoryHighBytes < limits.memoryMaxBytes, words);
        assert.ok(limits.memoryHighBytes > limits.memoryMaxBytes * 0.97, words);
        assert.ok(limits.tasksMax >= 1_024, words);
      }
      assert.ok(all.cpuWeight < 100 && all.ioWeight < 100, "logins and host roles go first");
    }
  }
});

Deno.test("another kernel or one more agent changes no default", () => {
  const memoryBytes = 24_000 * MIB;
  const now = defaultLimits({ memoryBytes, agents: 20 });
  assert.deepEqual(defaultLimits({ memoryBytes: memoryBytes - 40 * MIB, agents: 20 }), now);
  assert.deepEqual(defaultLimits({ memoryBytes: memoryBytes + 40 * MIB, agents: 64 }), now);
});

const row = (key: string) => LIMIT_ROWS.find((each) => each.key === key)!;

Deno.test("sizes and counts are read, bounded and printed in a form that can be read again", () => {
  const good = [
    ["memory_max", "2G", 2 * GIB, "2G"],
    ["memory_max", "2048m", 2 * GIB, "2G"],
    ["memory_high", "1536M", 1536 * MIB, "1536M"],
    ["memory_max", "1T", 1024 * GIB, "1T"],
    ["tasks_max", "512", 512, "512"],
    ["cpu_weight", "10000", 10_000, "10000"],
  ] as const;
  for (const [key, text, value, printed] of good) {
    const parsed = parseLimit(row(key), text);
    assert.ok(parsed.ok, text);
    assert.equal(parsed.value, value);
    assert.equal(printLimit(row(key), value), printed);
  }
  const bad = [
    ["memory_max", "2", "must be a size from 256M to 64T, such as 2G"],
    ["memory_max", "255M", "from 256M to 64T"],
    ["memory_max", "65T", "from 256M to 64T"],
    ["memory_max", "1.5G", "such as 2G"],
    ["memory_max", "-1G", "such as 2G"],
    ["memory_max", "infinity", "such as 2G"],
    ["tasks_max", "127", "must be a whole number from 128 to 4194304"],
    ["tasks_max", "1e3", "whole number"],
    ["io_weight", "0", "from 1 to 10000"],
    ["cpu_weight", "10001", "from 1 to 10000"],
  ] as const;
  for (const [key, text, words] of bad) {
    const parsed = parseLimit(row(key), text);
    assert.ok(!parsed.ok, text);
    assert.ok(parsed.error.message.includes(words), parsed.error.message);
  }
});

Deno.test("a record's limits override the host's; memory_high stays below memory_max", () => {
  const { agent } = defaultLimits({ memoryBytes: 8 * GIB, agents: 2 });
  assert.deepEqual(fillLimits({}, agent), agent);
  const more = fillLimits({ memoryMaxBytes: 6 * GIB, cpuWeight: 20 }, agent);
  assert.deepEqual([more.memoryMaxBytes, more.cpuWeight], [6 * GIB, 20]);
  assert.deepEqual([more.tasksMax, more.ioWeight], [agent.tasksMax, agent.ioWeight]);
  assert.equal(more.memoryHighBytes, 6 * GIB - 96 * MIB, "a sixty-fourth below its own ceiling");
  assert.equal(fillLimits({ memoryMaxBytes: 256 * MIB }, agent).memoryHighBytes, 252 * MIB);
  assert.equal(
    fillLimits({ memoryHighBytes: 60 * GIB }, agent).memoryHighBytes,
    agent.memoryMaxBytes,
  );
  assert.match(
    limitsFault({ memoryHighBytes: 3, memoryMaxBytes: 2 }) ?? "",
    /memory_high is above/,
  );
  assert.equal(limitsFault({ memoryHighBytes: 2, memoryMaxBytes: 2 }), undefined);
});
