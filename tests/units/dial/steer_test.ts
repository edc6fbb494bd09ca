/**
 * A waiting turn is sent into the running one: over the gateway, and with kills. It is read once,
 * or stays queued and runs by itself.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { SteerMessage, TurnOutcome } from "units/dial/runtimes/driver.ts";
import { hang, scriptedRuntime, type TurnStage } from "tests/fakes/runtime.ts";
import { cockpitReader, type ShownEvent } from "tests/support/cockpit_reader.ts";
import { hastyClock, liveHost, startTestDial } from "tests/support/dial_fixture.ts";
import { registerBare, startTestGateway, type TestGateway } from "tests/support/gateway_fixture.ts";

const DONE: TurnOutcome = { outcome: "completed" };

function test(
  name: string,
  fn: (at: TestGateway, cockpit: ReturnType<typeof cockpitReader>) => Promise<void>,
): void {
  Deno.test(name, async () => {
    await using running = await startTestGateway({ host: liveHost({ seed: 5 }) });
    await fn(running, cockpitReader(() => running.cockpitUrl));
  });
}

/** Sends a waiting turn into the running one; returns the status, and the code of a refusal. */
async function steer({ cockpitUrl }: TestGateway, turnId: string): Promise<string> {
  const response = await fetch(`${cockpitUrl}/api/turns/steer`, {
    method: "POST",
    headers: { "x-user-email": "mia@example.org", "content-type": "application/json" },
    body: JSON.stringify({ agent: "mia", turn_id: turnId }),
  });
  const { code = "" } = await response.json() as { readonly code?: string };
  return `${response.status} ${code}`.trim();
}

const words = (events: readonly ShownEvent[], turnId: string) =>
  events.filter((event) => event.turn_id === turnId).map(({ kind, payload }) =>
    `${kind} ${payload.code ?? payload.text ?? payload.outcome ?? ""}`.trim()
  );

/** A program that reads messages in its first turn, which ends when `isDone` resolves. */
function reader() {
  const messages: SteerMessage[] = [];
  const passed = Promise.withResolvers<void>();
  const read = Promise.withResolvers<void>();
  return {
    messages,
    passed: passed.promise,
    /** Lets the turn store what was passed. */
    read: read.resolve,
    onSteer: (message: SteerMessage) => {
      messages.push(message);
      passed.resolve();
    },
    async script({ text, report }: TurnStage): Promise<TurnOutcome> {
      if (text !== "first") return DONE;
      await read.promise;
      for (const { id, text } of messages) await report({ kind: "steered", messageId: id, text });
      return DONE;
    },
  };
}

const isDelivered = (turnId: string) => (event: ShownEvent) =>
  event.kind === "turn_delivered" && event.turn_id === turnId;
const isEnd = (turnId: string) => (event: ShownEvent) =>
  event.kind === "turn_ended" && event.turn_id === turnId;
const isStart = (turnId: string) => (event: ShownEvent) =>
  event.kind === "turn_started" && event.turn_id === turnId;

test("the running turn reads a waiting one, which then does not run", async (at, cockpit) => {
  const program = reader();
  const driver = scriptedRuntime((stage) => program.script(stage), { onSteer: program.onSteer });
  const unit = await startTestDial({ url: at.dialUrl, driver });
  const first = await cockpit.post("first");
  const begun = await cockpit.follow(isStart(first));
  assert.equal(begun.at(-1)?.payload.steers, true);
  const second = await cockpit.post("second");
  await cockpit.follow(isDelivered(second));
  assert.equal(await steer(at, second), "202");
  await program.passed;
  assert.deepEqual(program.messages, [{ turnId: first, id: second, text: "second" }]);
  program.read();
  const events = await cockpit.follow(isEnd(first));
  assert.deepEqual(words(events, first).slice(-2), ["turn_steered second", "turn_ended completed"]);
  assert.deepEqual(words(events, second).slice(-1), ["turn_ended steered"]);
  assert.deepEqual(driver.begun, [first]);
  assert.equal(await steer(at, second), "409 turn-not-waiting");
  await unit.close();
});

test("a message that the program did not confirm runs as its own turn", async (at, cockpit) => {
  const reached = Promise.withResolvers<void>();
  const driver = scriptedRuntime(async ({ text }) => {
    if (text !== "first") return DONE;
    await reached.promise;
    return DONE;
  }, { onSteer: () => reached.resolve() });
  const unit = await startTestDial({ url: at.dialUrl, driver });
  const first = await cockpit.post("first");
  await cockpit.follow(isStart(first));
  const second = await cockpit.post("second");
  await cockpit.follow(isDelivered(second));
  await steer(at, second);
  const events = await cockpit.follow(isEnd(second));
  assert.deepEqual(words(events, second).slice(-2), ["turn_started", "turn_ended completed"]);
  assert.deepEqual(driver.begun, [first, second]);
  await unit.close();
});

test("a message that was stored before a kill is read once", async (at, cockpit) => {
  const host = liveHost({ seed: 9, clock: hastyClock() });
  const stored = Promise.withResolvers<void>();
  let id = "";
  // The first process stores the message, and its dial unit ends before it receives the report.
  const before = scriptedRuntime(() => hang(), {
    goesOn: true,
    onSteer: (message) => {
      id = message.id;
      stored.resolve();
    },
  });
  const one = await startTestDial({ url: at.dialUrl, host, driver: before });
  const first = await cockpit.post("first");
  await cockpit.follow(isStart(first));
  const second = await cockpit.post("second");
  await cockpit.follow(isDelivered(second));
  await steer(at, second);
  await stored.promise;
  await one.close();
  const after = scriptedRuntime(async ({ report }) => {
    await report({ kind: "steered", messageId: id, text: "second" });
    return DONE;
  }, { goesOn: true, onSteer: () => {} });
  const two = await startTestDial({ url: at.dialUrl, host, driver: after });
  const events = await cockpit.follow(isEnd(first));
  assert.deepEqual(words(events, second).slice(-1), ["turn_ended steered"]);
  assert.deepEqual(after.begun, [first]);
  await two.close();
});

test("an older dial unit is not asked, and the turn stays queued", async (at, cockpit) => {
  const client = await registerBare(at.dialUrl, { capabilities: ["turns", "messages", "files"] });
  const turnId = await cockpit.post("hello");
  await client.next("turn");
  client.send({ type: "turn_accepted", turn_id: turnId });
  await cockpit.follow(isDelivered(turnId));
  assert.equal(await steer(at, turnId), "409 steer-unsupported");
  client.connection.terminate();
});
