/**
 * A turn continues, with a runtime that supports it, after the end of the runtime and of the dial
 * unit. What was recorded is not recorded again, and a turn that ends its runtime again and again
 * ends.
 *
 * @module
 */

import assert from "node:assert/strict";
import { pathsUnder } from "core/paths.ts";
import type { TurnOutcome } from "units/dial/runtimes/driver.ts";
import { hang, scriptedRuntime, type TurnStage } from "tests/fakes/runtime.ts";
import { cockpitReader, type ShownEvent } from "tests/support/cockpit_reader.ts";
import { hastyClock, liveHost, startTestDial } from "tests/support/dial_fixture.ts";
import { startTestGateway, type TestGateway } from "tests/support/gateway_fixture.ts";
import { pngOf } from "tests/support/sample_images.ts";

const DONE: TurnOutcome = { outcome: "completed" };
const JOURNALS = pathsUnder("/r").journals("mia");

function test(
  name: string,
  fn: (at: TestGateway, cockpit: ReturnType<typeof cockpitReader>) => Promise<void>,
): void {
  Deno.test({
    name,
    sanitizeOps: true,
    sanitizeResources: true,
    fn: async () => {
      await using running = await startTestGateway({ host: liveHost({ seed: 3 }) });
      await fn(running, cockpitReader(() => running.cockpitUrl));
    },
  });
}

/** The events of a turn, in words. */
const words = (events: readonly ShownEvent[], turnId: string) =>
  events.filter((event) => event.turn_id === turnId).map(({ kind, payload }) =>
    `${kind} ${payload.code ?? payload.text ?? payload.call_id ?? payload.outcome ?? ""}`.trim()
  );

/**
 * Reports a message, a call with its result, and an open call; the second process ends the turn.
 */
function twoProcesses(cut: () => void) {
  let processes = 0;
  return async ({ report }: TurnStage): Promise<TurnOutcome> => {
    const isFirst = ++processes === 1;
    await report({ kind: "text_delta", messageId: "m1", text: "one" });
    await report({ kind: "message", messageId: "m1", text: "one" });
    for (const callId of ["c1", "c2"]) {
      await report({ kind: "tool_call", callId, mcp: "x", tool: "t", arguments: {} });
      if (callId === "c2" && isFirst) {
        cut();
        return await hang();
      }
      const result = { status: "completed", text: `${callId} done`, cutBytes: 0 } as const;
      await report({ kind: "tool_result", callId, durationMs: 1, ...result });
    }
    await report({ kind: "message", messageId: "m2", text: "two" });
    return DONE;
  };
}

const WHOLE = (why: string) => [
  "turn_queued go",
  "turn_delivered",
  "turn_started",
  "message one",
  "tool_call c1",
  "tool_result c1 done",
  "tool_call c2",
  `notice The turn continues: ${why}`,
  "tool_result c2 done",
  "message two",
  "turn_ended completed",
];

test("a turn continues after its runtime was killed, and repeats no event", async (at, cockpit) => {
  const driver = scriptedRuntime(twoProcesses(() => driver.kill("signal SIGKILL")), {
    goesOn: true,
  });
  const unit = await startTestDial({ url: at.dialUrl, driver });
  const turnId = await cockpit.post("go");
  const events = await cockpit.follow(({ kind }) => kind === "turn_ended");
  assert.deepEqual(words(events, turnId), WHOLE("signal SIGKILL"));
  assert.deepEqual(driver.begun, [turnId, turnId]);
  await unit.close();
});

test("a turn continues after its dial unit was stopped, with a waiting one after it", async (
  at,
  cockpit,
) => {
  const host = liveHost({ seed: 7, clock: hastyClock() });
  const reached = Promise.withResolvers<void>();
  const script = twoProcesses(() => reached.resolve());
  const first = await startTestDial({
    url: at.dialUrl,
    host,
    driver: scriptedRuntime(script, { goesOn: true }),
  });
  const turnId = await cockpit.post("go");
  await reached.promise;
  const later = await cockpit.post("later");
  await cockpit.follow((event) => event.kind === "turn_delivered" && event.turn_id === later);
  await host.files.ensureDir(JOURNALS);
  for (const id of [turnId, "ended-turn"]) await host.files.write(`${JOURNALS}/${id}.jsonl`, "");
  await first.close();

  const driver = scriptedRuntime(script, { goesOn: true });
  const second = await startTestDial({ url: at.dialUrl, host, driver });
  const events = await cockpit.follow((event) =>
    event.kind === "turn_ended" && event.turn_id === later
  );
  assert.deepEqual(words(events, turnId), WHOLE("the agent's dial unit was restarted"));
  assert.deepEqual(driver.begun, [turnId, later]);
  await second.close();
  assert.deepEqual(await host.files.list(JOURNALS), []);
});

test("a turn that ends its runtime repeatedly is ended, and names its open call", async (
  at,
  cockpit,
) => {
  const driver = scriptedRuntime(async ({ report }) => {
    await report({ kind: "tool_call", callId: "c1", mcp: "x", tool: "t", arguments: {} });
    driver.kill("signal SIGKILL");
    return await hang();
  }, { goesOn: true });
  const unit = await startTestDial({ url: at.dialUrl, driver });
  const turnId = await cockpit.post("go");
  const events = await cockpit.follow(({ kind }) => kind === "turn_ended");
  assert.equal(driver.begun.length, 6);
  assert.deepEqual(words(events, turnId).slice(-2), [
    "tool_result [outcome unknown: the turn ended while this call ran]",
    "turn_ended runtime-died",
  ]);
  await unit.close();
});

test("an answer that is asked for again is recorded, and a stored one is not repeated", async (
  at,
  cockpit,
) => {
  const answers = [["long, cut"], ["short"], ["short", "last"]];
  const driver = scriptedRuntime(async ({ report }) => {
    const texts = answers.shift() ?? [];
    for (const [place, text] of texts.entries()) {
      await report({ kind: "message", messageId: `m${place + 1}`, text });
    }
    if (answers.length === 0) return DONE;
    driver.kill("signal SIGKILL");
    return await hang();
  }, { goesOn: true });
  const unit = await startTestDial({ url: at.dialUrl, driver });
  const turnId = await cockpit.post("go");
  const events = (await cockpit.follow(({ kind }) => kind === "turn_ended"))
    .filter((event) => event.turn_id === turnId && event.kind === "message");
  assert.deepEqual(events.map(({ payload }) => payload.text), ["long, cut", "short", "last"]);
  const ids = events.map(({ payload }) => payload.message_id);
  assert.equal(new Set(ids).size, 3, "each message has its own id");
  await unit.close();
});

test("an image whose process ended before it was recorded is recorded once", async (
  at,
  cockpit,
) => {
  const shots = await Promise.all([1, 2].map(async (width) => {
    const png = await pngOf(width, 1);
    const info = { type: "image/png", width, height: 1, bytes: png.length } as const;
    return { ...info, base64: png.toBase64() };
  }));
  const host = liveHost({ seed: 7, clock: hastyClock() });
  let processes = 0;
  const cut = Promise.withResolvers<void>();
  const script = async ({ report }: TurnStage): Promise<TurnOutcome> => {
    const isFirst = ++processes === 1;
    await report({ kind: "tool_call", callId: "c1", mcp: "x", tool: "t", arguments: {} });
    const result = { status: "completed", text: "two shots", cutBytes: 0 } as const;
    await report({ kind: "tool_result", callId: "c1", durationMs: 1, ...result });
    for (const image of [{ path: "/none.png" }, ...shots]) {
      await report({ kind: "image", callId: "c1", image });
      if (!isFirst || image !== shots[0]) continue;
      cut.resolve();
      return await hang();
    }
    return DONE;
  };
  const driver = () => scriptedRuntime(script, { goesOn: true });
  const first = await startTestDial({ url: at.dialUrl, host, driver: driver() });
  const turnId = await cockpit.post("go");
  await cut.promise;
  await first.close();
  const second = await startTestDial({ url: at.dialUrl, host, driver: driver() });
  const events = (await cockpit.follow(({ kind }) => kind === "turn_ended"))
    .filter((event) => event.turn_id === turnId);
  const shown = events.filter(({ kind }) => kind === "attachment")
    .map(({ payload: { n, width, call_id } }) => [n, width, call_id]);
  assert.deepEqual(shown, [[65, 1, "c1"], [66, 2, "c1"]]);
  const lost = events.filter(({ payload }) => /none.png.* not in the/.test(`${payload.text}`));
  assert.equal(lost.length, 1);
  await second.close();
});

test("a turn is cancelled while its runtime is not running", async (at, cockpit) => {
  const driver = scriptedRuntime(async ({ report }) => {
    await report({ kind: "notice", text: "begun" });
    return await hang();
  }, { goesOn: true });
  const unit = await startTestDial({ url: at.dialUrl, driver });
  const turnId = await cockpit.post("go");
  await cockpit.follow(({ payload }) => payload.text === "begun");
  const go = driver.holdStart();
  driver.kill();
  await cockpit.follow(({ payload }) => payload.state === "starting");
  await cockpit.cancel(turnId);
  go();
  const events = await cockpit.follow(({ kind }) => kind === "turn_ended");
  const end = events.find(({ kind }) => kind === "turn_ended");
  assert.equal(end?.payload.outcome, "cancelled");
  await unit.close();
});

test("a turn ends if its runtime does not start again", async (at, cockpit) => {
  const driver = scriptedRuntime(async ({ report }) => {
    await report({ kind: "notice", text: "begun" });
    return await hang();
  }, { goesOn: true });
  const unit = await startTestDial({ url: at.dialUrl, driver });
  await cockpit.post("go");
  await cockpit.follow(({ payload }) => payload.text === "begun");
  driver.failStarts("it is broken");
  driver.kill();
  const events = await cockpit.follow(({ kind }) => kind === "turn_ended");
  const end = events.find(({ kind }) => kind === "turn_ended");
  assert.equal(end?.payload.code, "runtime-not-started");
  await unit.close();
});

/** Leaves a call open in its first turn; then answers, and keeps what the model reads. */
function cutOnce(cut: () => void) {
  const read: string[] = [];
  const script = async ({ text, report }: TurnStage): Promise<TurnOutcome> => {
    read.push(text);
    if (read.length > 1) return text.endsWith("fail") ? { outcome: "failed" } : DONE;
    await report({ kind: "tool_call", callId: "c1", mcp: "x", tool: "t", arguments: { n: 1 } });
    cut();
    return await hang();
  };
  return { read, script };
}

const LOST_CALL = /^\[interrupted: x \/ t \(c1\) \{"n":1\}: outcome unknown: /m;
const CUT_EVENTS = [
  "tool_call c1",
  "tool_result [outcome unknown: the turn ended while this call ran]",
  "notice The turn was cut off during calls. x / t (c1): outcome unknown: the turn ended while " +
  "this call ran. The agent reads this before its next turn",
];

test("the model reads what a cut turn lost until it has completed a turn", async (at, cockpit) => {
  const { read, script } = cutOnce(() => driver.kill());
  const driver = scriptedRuntime(script);
  const unit = await startTestDial({ url: at.dialUrl, driver });
  const turnId = await cockpit.post("go");
  const events = await cockpit.follow(({ kind }) => kind === "turn_ended");
  assert.deepEqual(words(events, turnId).slice(3), [...CUT_EVENTS, "turn_ended runtime-died"]);
  for (const text of ["fail", "and now?", "go on"]) {
    const id = await cockpit.post(text);
    await cockpit.follow((event) => event.kind === "turn_ended" && event.turn_id === id);
  }
  assert.deepEqual(read.map((text) => LOST_CALL.test(text)), [false, true, true, false]);
  assert.deepEqual([read[0], read[3]], ["go", "go on"]);
  assert.match(read[2] ?? "", /was cut off: it died\. [^]*\n\nand now\?$/);
  await unit.close();
});

test("the model reads what a turn lost with its dial unit", async (at, cockpit) => {
  const host = liveHost({ seed: 7, clock: hastyClock() });
  const reached = Promise.withResolvers<void>();
  const { read, script } = cutOnce(reached.resolve);
  const first = await startTestDial({ url: at.dialUrl, host, driver: scriptedRuntime(script) });
  const turnId = await cockpit.post("go");
  await reached.promise;
  await first.close();
  const second = await startTestDial({ url: at.dialUrl, host, driver: scriptedRuntime(script) });
  const later = await cockpit.post("and now?");
  const events = await cockpit.follow((event) =>
    event.kind === "turn_ended" && event.turn_id === later
  );
  assert.deepEqual(words(events, turnId).slice(3), [...CUT_EVENTS, "turn_ended dial-stopped"]);
  assert.match(read[1] ?? "", LOST_CALL);
  await second.close();
});
