/**
 * Tokens of turns: what the store keeps of them, for how long, and what the local socket answers.
 *
 * @module
 */

import assert from "node:assert/strict";
import { runLocalTurn } from "cli/ask_turn.ts";
import { usageOf } from "cli/usage/read.ts";
import { defined } from "core/defined.ts";
import { USAGE_LIMITS } from "core/limits/usage.ts";
import { openHost } from "core/os/host.ts";
import { FileFault } from "core/ports/files.ts";
import { DAY_MS } from "core/text/duration.ts";
import type { ModelUsage } from "units/dial/runtimes/driver.ts";
import { type DialStore, openDialStore } from "units/dial/store.ts";
import { createUsageReader } from "units/dial/usage_reader.ts";
import { openUsageTable, USAGE_TABLE } from "units/dial/usage_table.ts";
import { memoryDatabases } from "tests/fakes/databases.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { scriptedRuntime } from "tests/fakes/runtime.ts";
import { hastyClock, startTestDial } from "tests/support/dial_fixture.ts";

const SAFE = { sanitizeOps: true, sanitizeResources: true } as const;
const NOON = Date.parse("2026-11-22T12:00:00Z");
const ALWAYS = { since: 0, until: NOON + 1_000 * DAY_MS };

function modelRow(model: string, tokens: readonly [number, number, number, number]) {
  const [input_tokens, output_tokens, cached_read_tokens, cached_write_tokens] = tokens;
  return { model, input_tokens, output_tokens, cached_read_tokens, cached_write_tokens };
}

/** Runs a turn to its end; `models` is what its runtime reported. */
function runTurn(
  store: DialStore,
  turnId: string,
  of: {
    readonly at?: number;
    readonly models?: readonly ReturnType<typeof modelRow>[];
    readonly isPartial?: true;
    readonly code?: string;
    readonly starts?: boolean;
  } = {},
): void {
  const { at = NOON, models, code, starts = true } = of;
  store.accept({ turnId, text: "hi", origin: "owner:mia@example.org" });
  const event = (kind: string, payload: Record<string, unknown>) => ({ at, turnId, kind, payload });
  if (starts) store.append([event("turn_started", {})], { turnId, to: "running" });
  if (models !== undefined) {
    const { isPartial } = of;
    store.append([event("usage", { models, ...defined({ is_partial: isPartial }) })]);
  }
  const payload = { outcome: "completed", ...defined({ code }) };
  store.append([event("turn_ended", payload)], { turnId, to: "ended" });
}

function test(
  name: string,
  fn: (open: () => Promise<DialStore>, databases: ReturnType<typeof memoryDatabases>) =>
    | void
    | Promise<void>,
): void {
  Deno.test(name, async () => {
    const databases = memoryDatabases();
    await fn(() => openDialStore(databases, "/dial.db", "e1"), databases);
    databases.dispose();
  });
}

test("the store sums tokens by day and model, and counts turns by day", async (open) => {
  const store = await open();
  runTurn(store, "t1", {
    models: [modelRow("big", [10, 2, 3, 4]), modelRow("small", [1, 1, 0, 0])],
  });
  runTurn(store, "t2", { models: [modelRow("big", [5, 1, 20, 0])], isPartial: true });
  runTurn(store, "t3", { at: NOON - DAY_MS, models: [modelRow("big", [7, 1, 0, 0])] });
  const again = await open();
  assert.deepEqual(again.usage.sum(ALWAYS, 10), {
    days: [
      { day: "2026-11-21", turns: 1, unknown_turns: 0, partial_turns: 0 },
      { day: "2026-11-22", turns: 2, unknown_turns: 0, partial_turns: 1 },
    ],
    models: [
      {
        day: "2026-11-21",
        ...modelRow("big", [7, 1, 0, 0]),
        turns: 1,
        partial_turns: 0,
        largest_input_tokens: 7,
      },
      {
        day: "2026-11-22",
        ...modelRow("big", [15, 3, 23, 4]),
        turns: 2,
        partial_turns: 1,
        largest_input_tokens: 25,
      },
      {
        day: "2026-11-22",
        ...modelRow("small", [1, 1, 0, 0]),
        turns: 1,
        partial_turns: 0,
        largest_input_tokens: 1,
      },
    ],
  });
});

test("a turn without figures counts as unknown, unless the runtime never got it", async (open) => {
  const store = await open();
  runTurn(store, "completed");
  runTurn(store, "interrupted", { code: "dial-restarted" });
  runTurn(store, "no-runtime", { code: "runtime-not-started" });
  runTurn(store, "cancelled-late", { code: "cancelled-before-start" });
  runTurn(store, "cancelled", { code: "cancelled-before-start", starts: false });
  assert.deepEqual(store.usage.sum(ALWAYS, 10), {
    days: [{ day: "2026-11-22", turns: 2, unknown_turns: 2, partial_turns: 0 }],
    models: [],
  });
});

test("figures count once, and only those of a running turn", async (open) => {
  const store = await open();
  const models = [modelRow("m", [1, 1, 1, 1])];
  const usage = { at: NOON, turnId: "t1", kind: "usage", payload: { models } };
  store.append([usage]);
  store.accept({ turnId: "t1", text: "hi", origin: "owner:a" });
  store.append([usage]);
  assert.deepEqual(store.usage.sum(ALWAYS, 10).days, []);
  store.append([{ ...usage, kind: "turn_started", payload: {} }], { turnId: "t1", to: "running" });
  store.append([usage, usage]);
  const end = { ...usage, kind: "turn_ended", payload: { outcome: "completed" } };
  store.append([end], { turnId: "t1", to: "ended" });
  store.append([usage]);
  assert.deepEqual(store.usage.sum(ALWAYS, 10).models.map((row) => row.input_tokens), [1]);
});

test("a period includes its beginning and excludes its end", async (open) => {
  const store = await open();
  for (const at of [NOON - 1, NOON, NOON + 1]) runTurn(store, `t${at}`, { at });
  const turns = (since: number, until: number) =>
    store.usage.sum({ since, until }, 10).days.map((day) => day.turns);
  assert.deepEqual(turns(NOON, NOON + 1), [1]);
  assert.deepEqual(turns(NOON - 1, NOON + 2), [3]);
  assert.deepEqual(turns(NOON + 1, NOON), []);
});

test("rows are kept for 400 days", async (open) => {
  const store = await open();
  const old = USAGE_LIMITS.daysKept * DAY_MS;
  runTurn(store, "out", { at: NOON - old - 1 });
  runTurn(store, "in", { at: NOON - old });
  runTurn(store, "now");
  const days = store.usage.sum(ALWAYS, 10).days.map((day) => day.day);
  assert.deepEqual(days, ["2025-10-18", "2026-11-22"]);
});

test("the oldest rows beyond the limit are deleted", async (_open, databases) => {
  const db = await databases.open("/usage.db");
  db.exec(USAGE_TABLE);
  const table = openUsageTable(db);
  const running = () => ({ origin: "agent:ada", isRunning: true });
  const models = [modelRow("m", [1, 0, 0, 0])];
  db.transaction(() => {
    for (let n = 0; n <= USAGE_LIMITS.rowsKept; n++) {
      table.note({ at: NOON + n, turnId: `t${n}`, kind: "usage", payload: { models } }, running);
    }
    const turnId = `t${USAGE_LIMITS.rowsKept}`;
    table.note({ at: NOON, turnId, kind: "turn_ended", payload: {} }, running);
  });
  const [kept] = db.prepare("select count(*) as rows, min(at) as first from usage").all();
  assert.deepEqual({ ...kept }, { rows: USAGE_LIMITS.rowsKept, first: NOON + 1 });
  const [row] = db.prepare("select origin from usage limit 1").all();
  assert.equal(row?.origin, "agent");
});

test("the largest figures add up exactly", async (_open, databases) => {
  const db = await databases.open("/usage.db");
  db.exec(USAGE_TABLE);
  const table = openUsageTable(db);
  const running = () => ({ origin: "owner:a", isRunning: true });
  const most = USAGE_LIMITS.tokensMax;
  const models = [modelRow("m", [most, most, most, most])];
  for (let n = 0; n < 1_000; n++) {
    table.note({ at: NOON, turnId: `t${n}`, kind: "usage", payload: { models } }, running);
  }
  const [sum] = table.sum(ALWAYS, 10).models;
  assert.equal(sum?.input_tokens, 1_000 * most);
  assert.ok(Number.isSafeInteger(USAGE_LIMITS.rowsKept * most));
  // The sum of three fields of one row, too.
  assert.equal(sum?.largest_input_tokens, 3 * most);
});

Deno.test("an answer with more rows than its limit is refused", async () => {
  const rows = (count: number) => ({
    sum: (_period: unknown, rowsMax: number) => ({
      days: [],
      models: Array.from({ length: Math.min(count, rowsMax) }, () => ({
        day: "2026-11-22",
        turns: 1,
        partial_turns: 0,
        largest_input_tokens: 1,
        ...modelRow("m", [1, 0, 0, 0]),
      })),
    }),
  });
  const sum = async (counts: readonly [number, number]) => {
    const open = new Map([["dial.db", rows(counts[0])], ["teamchat.db", rows(counts[1])]] as const);
    const files = { stat: () => Promise.resolve(undefined) };
    const reader = createUsageReader({ files, databases: memoryDatabases(), folder: "/d", open });
    const found = await reader.sum(ALWAYS);
    return found.ok ? found.value.models.length : found.error.code;
  };
  const max = USAGE_LIMITS.answerRowsMax;
  assert.equal(await sum([max - 1, 1]), max);
  assert.equal(await sum([max + 7, 0]), "usage-too-long");
  assert.equal(await sum([max, 1]), "usage-too-long");
});

Deno.test("a store that cannot be opened refuses the answer", async () => {
  const fault = new FileFault("EACCES", "/d/dial.db", "permission denied");
  const reader = createUsageReader({
    files: { stat: () => Promise.resolve({} as never) },
    databases: { open: () => Promise.reject(fault) },
    folder: "/d",
    open: new Map(),
  });
  const found = await reader.sum(ALWAYS);
  assert.ok(!found.ok && found.error.code === "usage-unreadable");
});

const FIGURES: ModelUsage = {
  model: "m-1",
  inputTokens: 100,
  outputTokens: 20,
  cachedReadTokens: 30,
  cachedWriteTokens: 4,
};

/** A dial unit of mia on this machine, with its socket; its runtime reports `FIGURES`. */
async function withUnit(
  root: string,
  env: Readonly<Record<string, string>>,
  work: (at: Parameters<typeof usageOf>[0], turn: () => Promise<string>) => Promise<void>,
): Promise<void> {
  const log = recordingLog();
  const host = {
    ...openHost({ log: { program: "test", level: "error" } }),
    clock: hastyClock(),
    log,
  };
  const driver = scriptedRuntime(async ({ report }) => {
    await report({ kind: "usage", models: [FIGURES], isPartial: true });
    return { outcome: "completed" };
  });
  const url = "ws://127.0.0.1:9";
  const unit = await startTestDial({ url, driver, host, env: { FLEETCTL_ROOT: root, ...env } });
  const at = {
    socket: `${root}/home/mia/.fleetctl/dial/local.sock`,
    connect: (path: string) => host.sockets.connectUnix(path),
    clock: host.clock,
  };
  const stop = new AbortController().signal;
  try {
    await work(at, async () => {
      let usage = "";
      const onUpdate = async (update: { readonly type: string }) => {
        if (JSON.stringify(update).includes('"kind":"usage"')) usage = JSON.stringify(update);
      };
      const turn = { agent: "mia", text: "hi", by: "root" };
      assert.ok((await runLocalTurn(at, turn, { stop, onUpdate })).ok);
      return usage;
    });
  } finally {
    await unit.close();
  }
}

Deno.test({
  name: "the local socket sums the usage, also of stores without a connection",
  ...SAFE,
  fn: async () => {
    const root = await Deno.makeTempDir({ prefix: "fc-" });
    const period = { since: 0, until: Date.now() + DAY_MS };
    try {
      await withUnit(root, { CHANNEL_USER_EMAIL: "" }, async (at, turn) => {
        assert.deepEqual((JSON.parse(await turn()) as { payload: unknown }).payload, {
          models: [modelRow("m-1", [100, 20, 30, 4])],
          is_partial: true,
        });
        const other = await usageOf(at, "ada", period);
        assert.ok(!other.ok && other.error.code === "agent-mismatch");
      });
      await withUnit(root, {}, async (at, turn) => {
        await turn();
        const found = await usageOf(at, "mia", period);
        assert.ok(found.ok, JSON.stringify(found));
        const tokens = found.value.models.map((row) => row.input_tokens);
        assert.deepEqual(tokens, [100, 100]);
        assert.deepEqual(found.value.days.map((day) => [day.turns, day.partial_turns]), [
          [1, 1],
          [1, 1],
        ]);
      });
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  },
});
