/**
 * The supervised runtime on a fake clock: when its program sleeps, what wakes it, and what happens
 * when a use, an end or a stop comes at each point in between.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Result } from "core/result.ts";
import { type FakeClock, fakeClock, settle } from "tests/fakes/clock.ts";
import { type RecordingLog, recordingLog } from "tests/fakes/log.ts";
import { seededRandom } from "tests/fakes/random.ts";
import { type ScriptedRuntime, scriptedRuntime } from "tests/fakes/runtime.ts";
import { type SupervisedRuntime, superviseRuntime } from "units/dial/runtime.ts";
import type { RuntimeSession } from "units/dial/runtimes/driver.ts";

const IDLE_MS = 600_000;

/** A use of the session that a test ends. */
interface HeldUse {
  /** `ready`, or why there is no session; undefined while it waits. */
  readonly got: () => string | undefined;
  readonly end: () => Promise<void>;
}

class Scene {
  readonly clock: FakeClock = fakeClock();
  readonly driver: ScriptedRuntime = scriptedRuntime();
  readonly log: RecordingLog = recordingLog();
  readonly states: string[] = [];
  isNeeded = false;
  readonly #runtime: SupervisedRuntime;

  constructor(idleMs: number | undefined) {
    this.#runtime = superviseRuntime({
      driver: this.driver,
      clock: this.clock,
      random: seededRandom(1),
      log: this.log,
      onState: (state, reason) =>
        this.states.push(reason === undefined ? state : `${state}: ${reason}`),
      onLeaving: () => this.states.push("leaving"),
      idleMs,
      isNeeded: () => this.isNeeded,
    });
  }

  /** Begins a use, which lasts until the test ends it. */
  async use(): Promise<HeldUse> {
    const over = Promise.withResolvers<void>();
    let got: string | undefined;
    const done = this.#runtime.use(undefined, async (session: Result<RuntimeSession, string>) => {
      got = session.ok ? "ready" : session.error;
      await over.promise;
    });
    await settle();
    return {
      got: () => got,
      end: async () => {
        over.resolve();
        await done;
      },
    };
  }

  async close(): Promise<void> {
    await this.#runtime.close(0);
  }

  /** Lets the first idle time pass. */
  async untilAsleep(): Promise<void> {
    await this.clock.advance(IDLE_MS);
    assert.equal(this.states.at(-1), "asleep");
  }

  reasons(): readonly unknown[] {
    return this.log.of("runtime stays awake").map(({ fields }) => fields.reason);
  }
}

const START = ["starting", "idle"];
const SLEEP = ["leaving", "asleep"];

const CASES: readonly {
  readonly name: string;
  readonly idleMs?: number | null;
  readonly run: (scene: Scene) => Promise<void>;
  /** States in order. */
  readonly states: readonly string[];
  readonly starts: number;
}[] = [
  {
    name: "an idle program sleeps, and a use starts it again",
    run: async (scene) => {
      await scene.clock.advance(IDLE_MS - 1);
      assert.deepEqual(scene.states, START);
      await scene.untilAsleep();
      const use = await scene.use();
      assert.equal(use.got(), "ready");
      await use.end();
    },
    states: [...START, ...SLEEP, ...START],
    starts: 2,
  },
  {
    name: "a program without an idle time never sleeps, and sets no timer",
    idleMs: null,
    run: async (scene) => {
      await (await scene.use()).end();
      assert.equal(scene.clock.pending(), 0);
    },
    states: START,
    starts: 1,
  },
  {
    name: "the idle time counts from the end of the last use",
    run: async (scene) => {
      await scene.clock.advance(IDLE_MS - 1);
      await (await scene.use()).end();
      await scene.clock.advance(IDLE_MS - 1);
    },
    states: START,
    starts: 1,
  },
  {
    name: "a program in use does not sleep, however long that takes",
    run: async (scene) => {
      const [one, two] = [await scene.use(), await scene.use()];
      await scene.clock.advance(3 * IDLE_MS);
      await one.end();
      await scene.clock.advance(3 * IDLE_MS);
      assert.deepEqual(scene.states, START);
      await two.end();
      await scene.clock.advance(IDLE_MS);
    },
    states: [...START, ...SLEEP],
    starts: 1,
  },
  {
    name: "output of the program counts as use",
    run: async (scene) => {
      scene.driver.writeAt(400_000);
      await scene.clock.advance(IDLE_MS + 399_999);
      assert.deepEqual(scene.states, START);
      await scene.clock.advance(1);
    },
    states: [...START, ...SLEEP],
    starts: 1,
  },
  {
    name: "a question to a person keeps it awake, and is checked again after a minute",
    run: async (scene) => {
      scene.isNeeded = true;
      await scene.clock.advance(IDLE_MS + 59_999);
      scene.isNeeded = false;
      assert.deepEqual(scene.states, START);
      await scene.clock.advance(1);
      assert.deepEqual(scene.reasons(), ["a person is asked"]);
    },
    states: [...START, ...SLEEP],
    starts: 1,
  },
  {
    name: "unfinished work keeps it awake, and is logged once",
    run: async (scene) => {
      scene.driver.leave("background tasks run: 1");
      await scene.clock.advance(IDLE_MS + 600_000);
      assert.deepEqual(scene.states, START);
      assert.deepEqual(scene.reasons(), ["background tasks run: 1"]);
      scene.driver.leave(undefined);
      await scene.clock.advance(60_000);
    },
    states: [...START, ...SLEEP],
    starts: 1,
  },
  {
    name: "a use that comes while the program ends waits, and gets the new one",
    run: async (scene) => {
      const letEnd = scene.driver.holdEnd();
      await scene.clock.advance(IDLE_MS);
      const use = await scene.use();
      await scene.clock.advance(1_000);
      assert.equal(use.got(), undefined);
      letEnd();
      await settle();
      assert.equal(use.got(), "ready");
      await use.end();
    },
    states: [...START, "leaving", ...START],
    starts: 2,
  },
  {
    name: "several uses of a sleeping program start it once",
    run: async (scene) => {
      await scene.untilAsleep();
      const letStart = scene.driver.holdStart();
      const uses = [await scene.use(), await scene.use(), await scene.use()];
      assert.deepEqual(uses.map((use) => use.got()), [undefined, undefined, undefined]);
      letStart();
      await settle();
      assert.deepEqual(uses.map((use) => use.got()), ["ready", "ready", "ready"]);
      for (const use of uses) await use.end();
    },
    states: [...START, ...SLEEP, ...START],
    starts: 2,
  },
  {
    name: "a program that sleeps again and again is not restarted with back-off",
    run: async (scene) => {
      for (let round = 0; round < 3; round++) {
        await scene.untilAsleep();
        await (await scene.use()).end();
      }
    },
    states: [...START, ...SLEEP, ...START, ...SLEEP, ...START, ...SLEEP, ...START],
    starts: 4,
  },
  {
    name: "a program that does not start is a fault of that use, and the next one tries again",
    run: async (scene) => {
      await scene.untilAsleep();
      scene.driver.failStarts("it lacks a key");
      const use = await scene.use();
      assert.equal(use.got(), "it lacks a key");
      await use.end();
      scene.driver.failStarts(undefined);
      await (await scene.use()).end();
      await scene.clock.advance(IDLE_MS);
    },
    states: [...START, ...SLEEP, "starting", "failed: it lacks a key", ...START, ...SLEEP],
    starts: 3,
  },
  {
    name: "a program that dies by itself is started again, and its idle time begins again",
    run: async (scene) => {
      await scene.clock.advance(IDLE_MS - 1);
      scene.driver.kill("signal SIGKILL");
      await scene.clock.advance(30_000);
      assert.deepEqual(scene.states, [...START, "failed: signal SIGKILL", ...START]);
      await scene.clock.advance(IDLE_MS);
    },
    states: [...START, "failed: signal SIGKILL", ...START, ...SLEEP],
    starts: 2,
  },
  {
    name: "a program that dies while it is ended only sleeps",
    run: async (scene) => {
      const letEnd = scene.driver.holdEnd();
      await scene.clock.advance(IDLE_MS);
      scene.driver.kill("signal SIGSEGV");
      await settle();
      letEnd();
      await settle();
    },
    states: [...START, ...SLEEP],
    starts: 1,
  },
  {
    name: "a stop of a sleeping unit starts nothing",
    run: async (scene) => {
      await scene.untilAsleep();
      await scene.close();
      const use = await scene.use();
      assert.equal(use.got(), "the dial unit stops");
      await use.end();
    },
    states: [...START, ...SLEEP],
    starts: 1,
  },
  {
    name: "a stop while the program ends waits for its end, and a waiting use learns of it",
    run: async (scene) => {
      const letEnd = scene.driver.holdEnd();
      await scene.clock.advance(IDLE_MS);
      const use = await scene.use();
      const closed = scene.close();
      await settle();
      assert.equal(use.got(), undefined);
      letEnd();
      await closed;
      assert.equal(use.got(), "the dial unit stops");
      await use.end();
    },
    states: [...START, "leaving"],
    starts: 1,
  },
  {
    name: "a stop while the program wakes does not wait for its start",
    run: async (scene) => {
      await scene.untilAsleep();
      scene.driver.holdStart();
      const use = await scene.use();
      await scene.close();
      await settle();
      assert.equal(use.got(), "the dial unit stops");
      await use.end();
    },
    states: [...START, ...SLEEP, "starting"],
    starts: 2,
  },
];

for (const { name, idleMs = IDLE_MS, run, states, starts } of CASES) {
  Deno.test(name, async () => {
    const scene = new Scene(idleMs ?? undefined);
    await settle();
    await run(scene);
    assert.deepEqual(scene.states, states);
    assert.equal(scene.driver.starts(), starts);
    await scene.close();
    assert.equal(scene.clock.pending(), 0);
  });
}
