/**
 * Turns of several conversations of one agent: their order, the restarts of the program between
 * them, cancels, and failures.
 *
 * @module
 */

import assert from "node:assert/strict";
import { refusal } from "core/errors.ts";
import { err, ok } from "core/result.ts";
import { memoryDatabases } from "tests/fakes/databases.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { hang, scriptedRuntime, type TurnStage } from "tests/fakes/runtime.ts";
import { seededRandom } from "tests/fakes/random.ts";
import { hastyClock } from "tests/support/dial_fixture.ts";
import { createRecorder } from "units/dial/recorder.ts";
import { type SupervisedRuntime, superviseRuntime } from "units/dial/runtime.ts";
import { type DialStore, openDialStore } from "units/dial/store.ts";
import { createTurnImages } from "units/dial/turn_images.ts";
import { startTurnRunner, type TurnRunner } from "units/dial/turn_runner.ts";
import type { Worktrees } from "units/dial/worktrees/worktrees.ts";
import { memoryTurnFolder } from "tests/support/turn_files.ts";

interface Scene {
  readonly store: DialStore;
  readonly runner: TurnRunner;
  readonly runtime: SupervisedRuntime;
  /** Accepts a turn, whose id is also its text. */
  give(turnId: string, conversation?: string): void;
  /** Resolves with the payload once the event of the turn is stored. */
  seen(kind: string, turnId: string): Promise<Readonly<Record<string, unknown>>>;
}

/** Runs turns of a store with a scripted program. */
async function withTurns(
  driver: ReturnType<typeof scriptedRuntime>,
  work: (scene: Scene) => Promise<void>,
  prepare: Worktrees["prepare"] = () => Promise.resolve(ok(undefined)),
): Promise<void> {
  const databases = memoryDatabases();
  const store = await openDialStore(databases, "/dial.db", "e1");
  const [clock, log] = [hastyClock(), recordingLog()];
  const stop = new AbortController();
  const events = new Map<string, PromiseWithResolvers<Readonly<Record<string, unknown>>>>();
  const event = (kind: string, turnId: string) => {
    const key = `${kind} ${turnId}`;
    const there = events.get(key) ?? Promise.withResolvers();
    events.set(key, there);
    return there;
  };
  store.listen((drafts) =>
    drafts.forEach(({ kind, turnId = "", payload }) => event(kind, turnId).resolve(payload))
  );
  const onStored = () => {};
  const recorder = createRecorder({ store, clock, log, onStored, signal: stop.signal });
  const runtime = superviseRuntime({
    driver,
    clock,
    random: seededRandom(1),
    log,
    onState: () => {},
    onLeaving: () => {},
    idleMs: undefined,
    isNeeded: () => false,
  });
  const runner = startTurnRunner({
    store,
    recorder,
    runtime,
    clock,
    log,
    images: createTurnImages(memoryTurnFolder()),
    exclusive: (job) => job(),
    onPreview: () => {},
    cuts: store.cuts,
    withdrawApprovals: () => {},
    onResumed: () => {},
    onBusy: () => {},
    worktrees: { prepare },
  });
  const give = (turnId: string, conversation?: string) => {
    assert.ok(store.accept({ turnId, text: turnId, origin: "owner:a", conversation }).ok);
    runner.wake();
  };
  try {
    await work({
      store,
      runner,
      runtime,
      give,
      seen: (kind, turnId) => event(kind, turnId).promise,
    });
  } finally {
    const idle = runner.close();
    await runtime.close(0);
    await idle;
    stop.abort();
    databases.dispose();
  }
}

/** Runs each turn to its end, except one whose text is "hang". */
const script = async ({ text, report }: TurnStage) => {
  await report({ kind: "notice", text: "begins" });
  return text === "hang" ? await hang() : { outcome: "completed" } as const;
};

Deno.test("turns of several conversations run in order, each in its own conversation", async () => {
  const driver = scriptedRuntime(script);
  await withTurns(driver, async ({ give, seen }) => {
    give("hang");
    await seen("notice", "hang");
    give("b1", "b");
    give("b2", "b");
    give("a2");
    driver.kill();
    await seen("turn_ended", "a2");
    assert.deepEqual(driver.begun, ["hang", "b1", "b2", "a2"]);
    const [first, ...later] = driver.opened;
    assert.equal(first, "default");
    assert.deepEqual(later.filter((name, at) => name !== later[at - 1]), ["b", "default"]);
  });
});

Deno.test("a queued turn of another conversation is cancelled and opens nothing", async () => {
  const driver = scriptedRuntime(script);
  await withTurns(driver, async ({ runner, give, seen }) => {
    give("hang");
    await seen("notice", "hang");
    give("b1", "b");
    await runner.cancel("b1");
    assert.equal((await seen("turn_ended", "b1")).code, "cancelled-before-start");
    await runner.cancel("hang");
    assert.equal((await seen("turn_ended", "hang")).outcome, "cancelled");
    give("a2");
    await seen("turn_ended", "a2");
    assert.deepEqual(driver.opened, ["default"]);
  });
});

Deno.test("a conversation that cannot be opened fails its turn; the others continue", async () => {
  const driver = scriptedRuntime(script);
  await withTurns(driver, async ({ give, seen }) => {
    give("a1");
    await seen("turn_ended", "a1");
    driver.failStarts("its session is damaged");
    give("b1", "b");
    assert.deepEqual(await seen("turn_ended", "b1"), {
      outcome: "failed",
      code: "runtime-not-started",
      reason: "its session is damaged",
    });
    driver.failStarts(undefined);
    give("a2");
    assert.equal((await seen("turn_ended", "a2")).outcome, "completed");
    assert.equal(driver.opened.at(-1), "default");
  });
});

Deno.test("a folder is prepared before its turn, and its reports belong to that turn", async () => {
  const driver = scriptedRuntime(script);
  const prepared: (string | undefined)[] = [];
  await withTurns(driver, async ({ give, seen }) => {
    give("a1");
    give("b1", "b");
    assert.equal((await seen("tool_call", "b1")).tool, "setup");
    await seen("turn_ended", "b1");
    assert.deepEqual(prepared, ["b"]);
    assert.deepEqual(driver.opened, ["default", "b"]);
  }, async (conversation, { onUpdate }) => {
    prepared.push(conversation);
    await onUpdate({
      kind: "tool_call",
      callId: "c",
      mcp: undefined,
      tool: "setup",
      arguments: {},
    });
    return ok(undefined);
  });
});

Deno.test("a folder that cannot be prepared fails its turn, with the hint", async () => {
  const driver = scriptedRuntime(script);
  await withTurns(driver, async ({ give, seen }) => {
    give("b1", "b");
    assert.deepEqual(await seen("turn_ended", "b1"), {
      outcome: "failed",
      code: "setup-failed",
      reason: "Cannot begin the turn: it failed; hint: try",
    });
    give("a1");
    await seen("turn_ended", "a1");
    assert.deepEqual(driver.begun, ["a1"]);
  }, () => {
    const message = "Cannot begin the turn: it failed";
    return Promise.resolve(err(refusal("setup-failed", message, { hints: ["try"] })));
  });
});

Deno.test("a cancel ends the preparation of a folder", async () => {
  for (const isReported of [true, false]) {
    const driver = scriptedRuntime(script);
    const begun = Promise.withResolvers<void>();
    await withTurns(driver, async ({ runner, give, seen }) => {
      give("b1", "b");
      await begun.promise;
      await runner.cancel("b1");
      assert.equal((await seen("turn_ended", "b1")).outcome, "cancelled");
      give("a1");
      await seen("turn_ended", "a1");
      assert.deepEqual(driver.begun, ["a1"]);
    }, async (_conversation, { signal, onUpdate }) => {
      if (isReported) await onUpdate({ kind: "notice", text: "begins" });
      begun.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return err(refusal("worktree-stopped", "The turn was cancelled"));
    });
  }
});

Deno.test("leave() ends a program only if it has that conversation open", async () => {
  const driver = scriptedRuntime(script);
  await withTurns(driver, async ({ runtime, give, seen }) => {
    give("b1", "b");
    await seen("turn_ended", "b1");
    await runtime.leave("c");
    give("b2", "b");
    await seen("turn_ended", "b2");
    const starts = driver.starts();
    await runtime.leave("b");
    give("b3", "b");
    await seen("turn_ended", "b3");
    assert.equal(driver.starts(), starts + 1);
  });
});

Deno.test("a turn keeps its conversation in a store of an older version", async () => {
  const databases = memoryDatabases();
  const old = await databases.open("/dial.db");
  old.exec(
    "create table turns (place integer primary key autoincrement, turn_id text not null unique, " +
      "text text not null, origin text not null, state text not null, end_seq integer) strict; " +
      "insert into turns (turn_id, text, origin, state) values ('old', 'x', 'owner:a', 'accepted')",
  );
  const store = await openDialStore(databases, "/dial.db", "e1");
  const of = { text: "x", origin: "owner:a" };
  assert.deepEqual(store.nextTurn(), { turnId: "old", ...of });
  assert.ok(store.append([], { turnId: "old", to: "ended" }).ok);
  assert.ok(store.accept({ turnId: "new", conversation: "b", ...of }).ok);
  assert.deepEqual((await openDialStore(databases, "/dial.db", "e2")).nextTurn(), {
    turnId: "new",
    conversation: "b",
    ...of,
  });
  databases.dispose();
});
