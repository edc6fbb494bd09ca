/**
 * A real gateway and a real dial unit with a bad network between them. Whatever is cut, every turn
 * runs once, and every event is present once and in order.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { TurnOutcome } from "units/dial/runtimes/driver.ts";
import { scriptedRuntime, type TurnStage } from "tests/fakes/runtime.ts";
import { seededRandom } from "tests/fakes/random.ts";
import { startChaosProxy } from "tests/support/chaos_proxy.ts";
import { cockpitReader, type ShownEvent } from "tests/support/cockpit_reader.ts";
import { hastyClock, liveHost, startTestDial } from "tests/support/dial_fixture.ts";
import { startTestGateway } from "tests/support/gateway_fixture.ts";

const SAFE = { sanitizeOps: true, sanitizeResources: true } as const;
const CUTS = 100;
const CALLS_PER_TURN = 12;

/**
 * Makes a few tool calls and sends a text, with pauses between them in which other tasks can run.
 */
async function busyTurn({ turnId, text, report, signal }: TurnStage): Promise<TurnOutcome> {
  const messageId = `m-${turnId}`;
  for (let call = 0; call < CALLS_PER_TURN && !signal.aborted; call++) {
    const callId = `${text}-${call}`;
    await report({ kind: "tool_call", callId, mcp: "git", tool: "log", arguments: { call } });
    await report({ kind: "text_delta", messageId, text: "." });
    await report({
      kind: "tool_result",
      callId,
      status: "completed",
      text: "x".repeat(call * 100),
      cutBytes: 0,
      durationMs: 1,
    });
    await new Promise((done) => setTimeout(done, 0));
  }
  await report({ kind: "message", messageId, text: `done ${text}` });
  return { outcome: "completed" };
}

/** Returns what a turn must leave in the transcript, in order. */
function expected(text: string): readonly string[] {
  const calls = Array.from({ length: CALLS_PER_TURN }, (_, call) => [
    `tool_call ${text}-${call}`,
    `tool_result ${text}-${call}`,
  ]);
  return [
    `turn_queued ${text}`,
    "turn_delivered",
    "turn_started",
    ...calls.flat(),
    `message done ${text}`,
    "turn_ended completed",
  ];
}

function shown({ kind, payload }: ShownEvent): string {
  const detail = payload.call_id ?? payload.text ?? payload.outcome;
  return detail === undefined ? kind : `${kind} ${detail}`;
}

/** Checks that every turn is in the transcript exactly as expected. */
function checkTurns(events: readonly ShownEvent[], turns: ReadonlyMap<string, string>): void {
  assert.equal(new Set(events.map(({ id }) => id)).size, events.length);
  for (const [turnId, text] of turns) {
    const own = events.filter((event) => event.turn_id === turnId);
    assert.deepEqual(own.map(shown), expected(text));
  }
}

Deno.test({
  name: `${CUTS} random cuts lose no event, duplicate none, run every turn once`,
  ...SAFE,
  fn: async () => {
    await using running = await startTestGateway({ host: liveHost({ seed: 3 }) });
    const proxy = startChaosProxy(running.gateway.dial.port);
    const driver = scriptedRuntime(busyTurn);
    const unit = await startTestDial({ url: `ws://127.0.0.1:${proxy.port}`, driver });
    const random = seededRandom(11);
    const pick = (max: number) => Math.floor(random.fraction() * max);
    const cockpit = cockpitReader(() => running.cockpitUrl);
    const turns = new Map<string, string>();
    const post = async () => {
      const text = `t${turns.size}`;
      turns.set(await cockpit.post(text), text);
    };
    try {
      await post();
      await post();
      let cuts = 0;
      let untilCut = pick(8);
      let ended = 0;
      await cockpit.follow(async (event) => {
        if (event.kind === "turn_ended") {
          ended++;
          if (cuts < CUTS) await post();
        }
        if (cuts < CUTS && untilCut-- <= 0) {
          untilCut = pick(8);
          // Cut some of the next connections in their handshake, some in the middle of a frame.
          if (cuts % 4 === 0) proxy.cutNextAfter(200 + pick(4000));
          cuts += proxy.cut();
        }
        return cuts >= CUTS && ended === turns.size;
      });
      assert.ok(proxy.accepted() > CUTS, `${proxy.accepted()} connections`);
      checkTurns(await cockpit.all(), turns);
      assert.deepEqual(driver.begun, [...turns.keys()]);
    } finally {
      await unit.close();
      await proxy.close();
    }
  },
});

Deno.test({
  name: "a gateway that restarts during a turn loses nothing, and the agent keeps working",
  ...SAFE,
  fn: async () => {
    const host = liveHost({ seed: 3 });
    const first = await startTestGateway({ host });
    const proxy = startChaosProxy(first.gateway.dial.port);
    let base = first.cockpitUrl;
    const cockpit = cockpitReader(() => base);
    const { promise: halfWay, resolve: reached } = Promise.withResolvers<void>();
    const { promise: goOn, resolve: release } = Promise.withResolvers<void>();
    const driver = scriptedRuntime(async (stage) => {
      let count = 0;
      return await busyTurn({
        ...stage,
        report: async (update) => {
          if (++count === 10) {
            reached();
            // The gateway stays disconnected during the next events.
            setTimeout(release, 0);
          }
          await stage.report(update);
        },
      });
    });
    const unit = await startTestDial({ url: `ws://127.0.0.1:${proxy.port}`, driver });
    const turnId = await cockpit.post("t0");
    await halfWay;
    proxy.refuse(true);
    await first.gateway.close();
    await goOn;
    await using second = await startTestGateway({ host });
    proxy.retarget(second.gateway.dial.port);
    proxy.refuse(false);
    base = second.cockpitUrl;
    try {
      await cockpit.follow(({ kind }) => kind === "turn_ended");
      checkTurns(await cockpit.all(), new Map([[turnId, "t0"]]));
      assert.deepEqual(driver.begun, [turnId]);
      assert.equal(driver.starts(), 1);
    } finally {
      await unit.close();
      await proxy.close();
    }
  },
});

Deno.test({
  name: "a half-open connection is dropped and opened again",
  ...SAFE,
  fn: async () => {
    await using running = await startTestGateway({ host: liveHost({ seed: 3 }) });
    const proxy = startChaosProxy(running.gateway.dial.port);
    // Only the silence timeout runs fast: its 45 s become about 90 ms.
    const clock = hastyClock();
    const hasty = {
      ...clock,
      after: (ms: number, run: () => void) => clock.after(ms >= 30_000 ? ms / 500 : ms, run),
      monotonic: () => clock.monotonic() * 500,
    };
    const host = liveHost({ seed: 7, clock: hasty });
    const url = `ws://127.0.0.1:${proxy.port}`;
    const unit = await startTestDial({ url, driver: scriptedRuntime(), host });
    const cockpit = cockpitReader(() => running.cockpitUrl);
    try {
      await cockpit.follow(({ payload }) => payload.state === "idle");
      proxy.stall();
      const before = proxy.accepted();
      const turnId = await cockpit.post("hello");
      while (proxy.accepted() === before) await new Promise((done) => setTimeout(done, 5));
      proxy.resume();
      const events = await cockpit.follow(({ kind }) => kind === "turn_ended");
      const own = events.filter((event) => event.turn_id === turnId).map(({ kind }) => kind);
      assert.deepEqual(own, [
        "turn_queued",
        "turn_delivered",
        "turn_started",
        "message",
        "turn_ended",
      ]);
    } finally {
      await unit.close();
      await proxy.close();
    }
  },
});
