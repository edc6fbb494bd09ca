/**
 * Questions to a person in the dial unit, without a gateway: the first answer, invalid values,
 * expiry, restarts, the end of a turn, a full disk, and a person who may not answer.
 *
 * @module
 */

import assert from "node:assert/strict";
import { localRequest } from "core/dial/local_frames.ts";
import { refusal } from "core/errors.ts";
import { QUESTION_LIMITS } from "core/limits/question.ts";
import { err } from "core/result.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { COLOUR_FORM } from "tests/support/colour_form.ts";
import { overSocket } from "tests/units/dial/over_socket.ts";
import { answerQuestions } from "units/dial/local_questions.ts";
import {
  openPersonQuestions,
  type OpenQuestion,
  type PersonQuestions,
} from "units/dial/person_questions.ts";
import { createQuestionEndpoint } from "units/dial/question_endpoint.ts";
import { joinQuestionStores, type QuestionStore } from "units/dial/question_stores.ts";
import { openDialStore } from "units/dial/store.ts";

const BLUE = {
  action: "answered",
  values: { colour: "b" },
  by: "the operator",
  surface: "cli",
} as const;

async function bench() {
  const host = memoryHost();
  const store = await openDialStore(host.databases, "/dial.db", "epoch");
  const teams = await openDialStore(host.databases, "/teamchat.db", "epoch");
  const waiting: boolean[] = [];
  const open = (of: Partial<QuestionStore> = {}) =>
    openPersonQuestions({
      agent: "mia",
      store: { ...joinQuestionStores(store, teams), ...of },
      clock: host.clock,
      random: host.random,
      log: host.log,
      onStored: () => {},
      onWaiting: (isWaiting) => waiting.push(isWaiting),
    });
  const events = (of = store) => of.read(1, of.last());
  const kinds = (of = store) =>
    events(of).map(({ kind, payload }) =>
      `${kind} ${payload.state ?? payload.action ?? ""}`.trim()
    );
  return { host, store, teams, open, questions: open(), waiting, events, kinds };
}

function asked(questions: PersonQuestions): OpenQuestion & { readonly id: string } {
  const opened = questions.ask(COLOUR_FORM);
  assert.ok(opened.ok, JSON.stringify(opened));
  const id = questions.list().findLast(({ state }) => state === "asked")?.id ?? "";
  return { ...opened.value, id };
}
const codeOf = (result: { readonly ok: boolean; readonly error?: { readonly code: string } }) =>
  result.ok ? "ok" : result.error?.code;

Deno.test("the first answer counts, and reaches the program", async () => {
  const { questions, waiting, events, kinds } = await bench();
  const question = asked(questions);
  const { id } = question;
  assert.equal(codeOf(questions.answer({ ...BLUE, id, values: { colour: "g" } })), "answer-unfit");
  assert.equal(codeOf(questions.answer({ ...BLUE, id, values: undefined })), "answer-unfit");
  assert.ok(questions.answer({ ...BLUE, id }).ok);
  const late = questions.answer({ ...BLUE, id, action: "declined" });
  assert.equal(codeOf(late), "question-answered");
  assert.match(late.ok ? "" : late.error.message, /already answered by the operator$/);
  assert.deepEqual(await question.reply, { action: "accept", values: { colour: "b" } });
  assert.ok(question.delivered().ok);
  question.withdraw();
  assert.equal(codeOf(questions.answer({ ...BLUE, id })), "question-answered");
  assert.deepEqual(kinds(), [
    "question_asked",
    "question_answered answered",
    "question_ended delivered",
  ]);
  const [first, second] = events();
  const { expires, ...form } = first?.payload ?? {};
  assert.deepEqual(form, { question_id: id, ...COLOUR_FORM });
  assert.equal(typeof expires, "number");
  assert.deepEqual(second?.payload, { question_id: id, ...BLUE });
  assert.deepEqual(waiting, [true, false]);
});

Deno.test("a person may decline", async () => {
  const { questions, kinds } = await bench();
  const question = asked(questions);
  const { id } = question;
  assert.ok(questions.answer({ id, action: "declined", by: "x".repeat(9_000), surface: "p" }).ok);
  assert.deepEqual(await question.reply, { action: "decline" });
  assert.equal(questions.list().find((each) => each.id === id)?.answer?.by.length, 512);
  assert.deepEqual(kinds(), ["question_asked", "question_answered declined"]);
});

Deno.test("a question without an answer expires", async () => {
  const { host, questions, kinds, waiting } = await bench();
  const question = asked(questions);
  await host.clock.advance(QUESTION_LIMITS.askSeconds * 1000);
  assert.deepEqual(await question.reply, { action: "cancel" });
  assert.equal(codeOf(questions.answer({ ...BLUE, id: question.id })), "question-expired");
  assert.deepEqual(kinds(), ["question_asked", "question_ended expired"]);
  assert.deepEqual(waiting, [true, false]);
});

Deno.test("answers to withdrawn or unknown questions are refused", async () => {
  const { questions, open, kinds } = await bench();
  const first = asked(questions);
  first.withdraw();
  first.withdraw();
  assert.deepEqual(await first.reply, { action: "cancel" });
  assert.equal(codeOf(questions.answer({ ...BLUE, id: first.id })), "question-withdrawn");
  const second = asked(questions);
  const third = asked(questions);
  assert.ok(questions.answer({ ...BLUE, id: third.id }).ok);
  // The process has ended; another one opens the same database.
  const again = open();
  assert.equal(codeOf(again.answer({ ...BLUE, id: second.id })), "question-withdrawn");
  assert.deepEqual(again.list().map(({ state }) => state), ["withdrawn", "withdrawn", "withdrawn"]);
  assert.equal(codeOf(again.answer({ ...BLUE, id: "lost" })), "question-unknown");
  assert.deepEqual(kinds(), [
    "question_asked",
    "question_ended withdrawn",
    "question_asked",
    "question_asked",
    "question_answered answered",
    "question_ended withdrawn",
    "question_ended withdrawn",
    "question_ended withdrawn",
  ]);
});

Deno.test("the end of a turn withdraws its questions", async () => {
  const { store, questions, events } = await bench();
  store.accept({ turnId: "t1", text: "x", origin: "o" });
  store.append([], { turnId: "t1", to: "running" });
  const question = asked(questions);
  questions.turnEnded("t0");
  assert.equal(questions.list()[0]?.state, "asked");
  questions.turnEnded("t1");
  assert.deepEqual(await question.reply, { action: "cancel" });
  assert.deepEqual(events().map(({ turn_id: turnId }) => turnId), ["t1", "t1"]);
});

Deno.test("a question of a turn from team chat reaches both gateways", async () => {
  const { store, teams, questions, events, kinds } = await bench();
  teams.accept({ turnId: "t2", text: "x", origin: "teamchat" });
  teams.append([], { turnId: "t2", to: "running" });
  const { id } = asked(questions);
  assert.equal(questions.list()[0]?.turnId, "t2");
  // The page does not know the turn, so its events name none.
  assert.deepEqual(events(store).map(({ turn_id: turnId }) => turnId), [undefined]);
  assert.deepEqual(events(teams).map(({ turn_id: turnId }) => turnId), ["t2"]);
  assert.ok(questions.answer({ ...BLUE, id }).ok);
  questions.turnEnded("t2");
  assert.deepEqual(kinds(teams), kinds(store));
  assert.deepEqual(kinds(store).at(-1), "question_ended withdrawn");
});

Deno.test("questions are bounded in number; one that cannot be stored is not asked", async () => {
  const { questions, open, store } = await bench();
  for (let n = 0; n < QUESTION_LIMITS.openMax; n++) asked(questions);
  assert.equal(codeOf(questions.ask(COLOUR_FORM)), "question-unavailable");
  let isFull = false;
  const own = joinQuestionStores(store);
  const full = open({
    put: (...given) =>
      isFull
        ? err(refusal("storage-full", "Cannot store the event: it is full"))
        : own.put(...given),
  });
  const question = asked(full);
  isFull = true;
  assert.equal(codeOf(full.ask(COLOUR_FORM)), "storage-full");
  assert.equal(codeOf(full.answer({ ...BLUE, id: question.id })), "storage-full");
  isFull = false;
  assert.ok(full.answer({ ...BLUE, id: question.id }).ok);
});

Deno.test("the agent cannot answer a question", async () => {
  const { questions } = await bench();
  const { id } = asked(questions);
  const request = localRequest.parse({ type: "question_answer", agent: "mia", id, ...BLUE });
  assert.ok(request.type === "question_answer");
  const answerTo = (of: typeof request, mayDecide: boolean) => {
    const answer = answerQuestions(of, questions, { agent: "mia", mayDecide });
    return answer.type === "error" ? answer.code : answer.type;
  };
  assert.equal(answerTo(request, false), "question-not-yours");
  // A link in a home can lead root to another agent's dial unit.
  assert.equal(answerTo({ ...request, agent: "ada" }, true), "agent-mismatch");
  const listed = await overSocket({ uid: 1000, personQuestions: questions }, { type: "questions" });
  assert.equal(JSON.parse(listed).questions[0].message, "Which colour?");
  for (
    const [uid, isRootless, want] of [
      [1000, false, "question-not-yours"],
      [0, false, "question_result"],
      [1000, true, "question-answered"],
    ] as const
  ) {
    const answer = await overSocket({ uid, isRootless, personQuestions: questions }, request);
    assert.match(answer, new RegExp(want));
  }
});

Deno.test("the refusal of an invalid answer over the socket names every fault", async () => {
  const { questions } = await bench();
  const { id } = asked(questions);
  const values = { colour: "g", shape: "round" };
  const line = { type: "question_answer", agent: "mia", id, ...BLUE, values };
  const answer = await overSocket({ uid: 0, personQuestions: questions }, line);
  assert.match(JSON.parse(answer).message, /no such field; colour: must be one of the options$/);
});

Deno.test("the runtime's endpoint asks, delivers and withdraws", async () => {
  const { host, questions, kinds } = await bench();
  const endpoint = createQuestionEndpoint({ log: host.log });
  const alive = new AbortController().signal;
  assert.deepEqual(await endpoint.ask(COLOUR_FORM, alive), { action: "cancel" }, "not open yet");
  endpoint.open(questions);
  const reply = endpoint.ask(COLOUR_FORM, alive);
  const [open] = questions.list();
  assert.ok(questions.answer({ ...BLUE, id: open?.id ?? "" }).ok);
  assert.deepEqual(await reply, { action: "accept", values: { colour: "b" } });
  const gone = new AbortController();
  const other = endpoint.ask(COLOUR_FORM, gone.signal);
  gone.abort();
  assert.deepEqual(await other, { action: "cancel" });
  assert.deepEqual(await endpoint.ask(COLOUR_FORM, gone.signal), { action: "cancel" });
  assert.deepEqual(kinds(), [
    "question_asked",
    "question_answered answered",
    "question_ended delivered",
    "question_asked",
    "question_ended withdrawn",
    "question_asked",
    "question_ended withdrawn",
  ]);
});
