/**
 * A question of a program on its full path: dial unit, gateway, the owner's request, and back. It
 * covers who may answer, invalid values, two answers at once, and an agent that was away.
 *
 * @module
 */

import assert from "node:assert/strict";
import { openHost } from "core/os/host.ts";
import type { QuestionReply } from "core/questions/form.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { hang, scriptedRuntime } from "tests/fakes/runtime.ts";
import { cockpitReader, type ShownEvent } from "tests/support/cockpit_reader.ts";
import { hastyClock, liveHost, startTestDial } from "tests/support/dial_fixture.ts";
import { COLOUR_FORM } from "tests/support/colour_form.ts";
import {
  type BareClient,
  gatewayTest,
  registerBare,
  startTestGateway,
} from "tests/support/gateway_fixture.ts";
import { createQuestionEndpoint } from "units/dial/question_endpoint.ts";

const SAFE = { sanitizeOps: true, sanitizeResources: true } as const;
const ASKED = { ...COLOUR_FORM, question_id: "q1", expires: 8.64e15 };
const BLUE = { action: "answered", values: { colour: "b" } };

/** Sends a request as an owner; returns the status and the parsed answer. */
async function request(base: string, email: string, path: string, body?: unknown) {
  const response = await fetch(`${base}${path}`, {
    headers: { "x-user-email": email, "content-type": "application/json" },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}
const answerAs = (base: string, email: string, body: Readonly<Record<string, unknown>>) =>
  request(base, email, "/api/questions/answer", { agent: "mia", question_id: "q1", ...body });
const MIA = "mia@example.org";

/** Gateway and dial unit with a running turn, in which the program asks. */
async function scene() {
  const gateway = await startTestGateway({ host: liveHost({ seed: 3 }) });
  const root = await Deno.makeTempDir({ prefix: "fc-" });
  const log = recordingLog();
  const asks = createQuestionEndpoint({ log });
  const driver = scriptedRuntime(() => hang());
  const unit = await startTestDial({
    url: gateway.dialUrl,
    driver,
    host: {
      ...openHost({ log: { program: "test", level: "error" } }),
      clock: hastyClock(),
      log,
    },
    env: { FLEETCTL_ROOT: root },
    asks,
  });
  const cockpit = cockpitReader(() => gateway.cockpitUrl);
  const turnId = await cockpit.post("work");
  await cockpit.follow(({ kind }) => kind === "turn_started");
  return {
    turnId,
    cockpit,
    driver,
    base: gateway.cockpitUrl,
    ask: (signal = new AbortController().signal) => asks.ask(COLOUR_FORM, signal),
    open: async () =>
      (await request(gateway.cockpitUrl, MIA, "/api/questions?agent=mia")).body.questions,
    async [Symbol.asyncDispose]() {
      await unit.close();
      await gateway[Symbol.asyncDispose]();
      await Deno.remove(root, { recursive: true });
    },
  };
}
/** Sends an event and waits until it is stored. */
async function emit(client: BareClient, seq: number, kind: string, payload: unknown) {
  client.send({ type: "event", event: { seq, at: 1, kind, payload } });
  await client.next("ack");
}
async function leave(client: BareClient): Promise<void> {
  client.connection.close(1000, "");
  await client.closed;
}
const EPOCH = { epoch: "e" };
const isKind = (kind: string) => (event: ShownEvent) => event.kind === kind;

Deno.test("an answer from the page reaches the program that asks", SAFE, async () => {
  await using of = await scene();
  const reply = of.ask();
  await of.cockpit.follow(isKind("question_asked"));
  const [shown] = await of.open();
  const { question_id: id, asked: _asked, expires: _expires, ...rest } = shown;
  assert.deepEqual(rest, {
    ...COLOUR_FORM,
    agent: "mia",
    turn_id: of.turnId,
    state: "asked",
    action: null,
    values: null,
    by: null,
    is_confirmed: false,
  });
  const answered = await answerAs(of.base, MIA, { ...BLUE, question_id: id });
  assert.equal(answered.status, 202);
  assert.deepEqual(await reply, { action: "accept", values: { colour: "b" } });
  const events = await of.cockpit.follow(isKind("question_ended"));
  const own = events.filter(({ kind }) => kind.startsWith("question_"));
  assert.deepEqual(own.map(({ kind, turn_id: turn }) => [kind, turn]), [
    ["question_asked", of.turnId],
    ["question_answered", of.turnId],
    ["question_ended", of.turnId],
  ]);
  assert.deepEqual(own[1]?.payload, {
    question_id: id,
    ...BLUE,
    by: `owner:${MIA}`,
    surface: "page",
  });
  assert.equal(own[2]?.payload.state, "delivered");
  assert.deepEqual(await of.open(), []);
  const states = events.filter(isKind("agent_state")).map(({ payload }) => payload);
  const waits = states.find(({ state }) => state === "waiting-approval");
  assert.equal(waits?.reason, "a question waits for an answer");
});

Deno.test("a cancelled turn withdraws its question", SAFE, async () => {
  await using of = await scene();
  const reply: Promise<QuestionReply> = of.ask();
  await of.cockpit.follow(isKind("question_asked"));
  const [shown] = await of.open();
  await of.cockpit.cancel(of.turnId);
  assert.deepEqual(await reply, { action: "cancel" });
  await of.cockpit.follow(isKind("question_ended"));
  assert.deepEqual(await of.open(), []);
  const late = await answerAs(of.base, MIA, { ...BLUE, question_id: shown.question_id });
  assert.deepEqual([late.status, late.body.code], [409, "question-withdrawn"]);
});

Deno.test("a program that dies withdraws its question", SAFE, async () => {
  await using of = await scene();
  const reply: Promise<QuestionReply> = of.ask();
  await of.cockpit.follow(isKind("question_asked"));
  of.driver.kill();
  assert.deepEqual(await reply, { action: "cancel" });
  const events = await of.cockpit.follow(isKind("question_ended"));
  assert.equal(events.at(-1)?.payload.state, "withdrawn");
  assert.deepEqual(await of.open(), []);
});

gatewayTest("an answer is checked, is the owner's, and counts once", async (running) => {
  const base = running.cockpitUrl;
  const client = await registerBare(running.dialUrl, EPOCH);
  await emit(client, 1, "question_asked", ASKED);
  const invalid = await answerAs(base, MIA, { action: "answered", values: { colour: "x", n: 1 } });
  assert.deepEqual([invalid.status, invalid.body.code], [400, "answer-unfit"]);
  assert.match(invalid.body.detail, /"n": the question has no such field$/);
  assert.deepEqual(invalid.body.errors, ["colour: must be one of the options"]);
  const garbage = await answerAs(base, MIA, { action: "answered", values: { colour: {} } });
  assert.deepEqual([garbage.status, garbage.body.code], [400, "input-invalid"]);
  assert.equal((await answerAs(base, "bob@example.org", BLUE)).status, 403);
  const other = await answerAs(base, "bob@example.org", { ...BLUE, agent: "bob" });
  assert.deepEqual([other.status, other.body.code], [404, "question-unknown"]);
  const both = await Promise.all([
    answerAs(base, MIA, BLUE),
    answerAs(base, MIA, { action: "declined" }),
  ]);
  assert.deepEqual(both.map(({ status }) => status).sort(), [202, 409]);
  const lost = both.find(({ status }) => status === 409);
  assert.equal(lost?.body.code, "question-answered");
});

gatewayTest("an answer is repeated until the agent reports how it ended", async (running) => {
  const base = running.cockpitUrl;
  const first = await registerBare(running.dialUrl, EPOCH);
  await emit(first, 1, "question_asked", ASKED);
  await leave(first);
  assert.equal((await answerAs(base, MIA, BLUE)).status, 202);
  const wanted = {
    type: "question_answer",
    question_id: "q1",
    ...BLUE,
    by: `owner:${MIA}`,
    surface: "page",
  };
  const second = await registerBare(running.dialUrl, EPOCH);
  assert.deepEqual(await second.next("question_answer"), wanted);
  await leave(second);
  const third = await registerBare(running.dialUrl, EPOCH);
  assert.deepEqual(await third.next("question_answer"), wanted);
  // A person on the agent's host was faster.
  await emit(third, 2, "question_answered", {
    question_id: "q1",
    action: "declined",
    by: "the operator",
    surface: "cli",
  });
  const [shown] = (await request(base, MIA, "/api/questions?agent=mia")).body.questions;
  assert.deepEqual([shown.action, shown.values, shown.by, shown.is_confirmed], [
    "declined",
    null,
    "the operator",
    true,
  ]);
  await emit(third, 3, "question_ended", { question_id: "q1", state: "delivered" });
  assert.deepEqual((await request(base, MIA, "/api/questions?agent=mia")).body.questions, []);
});
