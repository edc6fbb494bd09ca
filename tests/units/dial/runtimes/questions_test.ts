/**
 * How each wire protocol turns a program's question into a form for a person, and the person's
 * reply into the program's own answer. What cannot be shown is cancelled, and a notice says so.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { QuestionForm, QuestionReply } from "core/questions/form.ts";
import { readAskUser } from "units/dial/runtimes/ask_user.ts";
import { recordedAsks } from "tests/units/dial/runtimes/recorded_asks.ts";
import type { Message } from "units/dial/runtimes/message.ts";
import { askSafely, type QuestionAsker } from "units/dial/runtimes/question.ts";
import { createStreamAsks } from "units/dial/runtimes/stream_json_asks.ts";

const DRINKS = {
  questions: [
    {
      question: "Which drink?",
      header: "Drink",
      multiSelect: false,
      options: [{ label: "Tea", description: "hot" }, { label: "Coffee", description: "" }],
    },
    {
      question: "Extras?",
      header: "Drink",
      multiSelect: true,
      options: [{ label: "Milk" }, { label: "Sugar" }],
    },
  ],
  metadata: { source: "x" },
};
const DRINKS_FORM: QuestionForm = {
  mcp: null,
  message: "",
  fields: [
    {
      name: "drink",
      title: "Which drink?",
      kind: "choice",
      required: true,
      allows_other: true,
      options: [{ value: "Tea", label: "Tea", description: "hot" }, {
        value: "Coffee",
        label: "Coffee",
      }],
    },
    {
      name: "question-2",
      title: "Extras?",
      kind: "choices",
      required: true,
      allows_other: true,
      options: [{ value: "Milk", label: "Milk" }, { value: "Sugar", label: "Sugar" }],
    },
  ],
};

Deno.test("readAskUser() makes a form, and answers by the text of each question", () => {
  const read = readAskUser(DRINKS);
  assert.ok(read.ok);
  assert.deepEqual(read.value.form, DRINKS_FORM);
  assert.deepEqual(read.value.answered({ "drink": "Mate", "question-2": ["Milk", "Sugar"] }), {
    ...DRINKS,
    answers: { "Which drink?": "Mate", "Extras?": "Milk, Sugar" },
  });
});

Deno.test("readAskUser() refuses questions that a person could not answer", () => {
  const option = { label: "a" };
  const one = { question: "q", options: [option] };
  for (
    const [input, want] of [
      [undefined, /no questions/],
      [{ questions: [] }, /no questions/],
      [{ questions: "x" }, /no questions/],
      [{ questions: [{ ...one, question: 1 }] }, /unreadable/],
      [{ questions: [{ ...one, options: [] }] }, /unreadable/],
      [{ questions: [{ ...one, options: [option, "b"] }] }, /unreadable/],
      [{ questions: [{ ...one, options: [{ label: "\u0000" }] }] }, /unreadable/],
      [{ questions: [{ ...one, options: [option, option] }] }, /unusable/],
      [{ questions: Array(17).fill(one) }, /more than 16 fields/],
    ] as const
  ) {
    const read = readAskUser(input);
    assert.ok(!read.ok && want.test(read.error), JSON.stringify(read));
  }
});

/** The questions of a streaming program; `reply` answers all of them. */
function stream(reply: QuestionReply | QuestionAsker) {
  const { deps, sent, forms, denied } = recordedAsks(reply);
  const asks = createStreamAsks(deps);
  const take = async (request: Message) => {
    const notices = asks.take({ type: "control_request", request_id: "r1", request });
    await Promise.resolve().then(() => {}).then(() => {});
    await new Promise<void>((resolve) => queueMicrotask(resolve));
    return notices;
  };
  return { asks, sent, forms, denied, take };
}
const replied = (response: unknown) => [{
  type: "control_response",
  response: { request_id: "r1", subtype: "success", response },
}];
const ASKED = {
  subtype: "can_use_tool",
  tool_name: "AskUserQuestion",
  tool_use_id: "c1",
  input: DRINKS,
};

Deno.test("AskUserQuestion is allowed with the answers of a person", async () => {
  const values = { "drink": "Tea", "question-2": ["Milk"] };
  const { take, sent, forms } = stream({ action: "accept", values });
  assert.deepEqual(await take(ASKED), []);
  assert.deepEqual(forms, [DRINKS_FORM]);
  const updatedInput = { ...DRINKS, answers: { "Which drink?": "Tea", "Extras?": "Milk" } };
  assert.deepEqual(sent, replied({ behavior: "allow", updatedInput }));
});

for (
  const [input, reply, message] of [
    [DRINKS, { action: "decline" }, "The person declined to answer the questions"],
    [DRINKS, { action: "cancel" }, "No person answered the questions"],
    [{}, { action: "decline" }, "Cannot ask the person: it has no questions"],
  ] as const
) {
  Deno.test(`AskUserQuestion without an answer tells the model: ${message}`, async () => {
    const { take, sent, denied } = stream(reply);
    await take({ ...ASKED, input });
    assert.deepEqual(sent, replied({ behavior: "deny", message }));
    assert.deepEqual(denied, ["c1"]);
  });
}

const ELICITATION = {
  subtype: "elicitation",
  mcp_server_name: "hub",
  message: "Which?",
  mode: "form",
  requested_schema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
};

Deno.test("an elicitation is answered with the person's values", async () => {
  const { take, sent, forms } = stream({ action: "accept", values: { n: 3 } });
  await take(ELICITATION);
  assert.deepEqual(forms, [{
    mcp: "hub",
    message: "Which?",
    fields: [{ name: "n", title: "n", kind: "integer", required: true }],
  }]);
  assert.deepEqual(sent, replied({ action: "accept", content: { n: 3 } }));
});

Deno.test("an elicitation with an address has no content; a refusal is passed on", async () => {
  const address = { ...ELICITATION, mode: "url", url: "https://vendor.example/" };
  const accepted = stream({ action: "accept", values: {} });
  await accepted.take(address);
  assert.equal(accepted.forms[0]?.url, "https://vendor.example/");
  assert.deepEqual(accepted.sent, replied({ action: "accept" }));
  for (const action of ["decline", "cancel"] as const) {
    const { take, sent } = stream({ action });
    await take(ELICITATION);
    assert.deepEqual(sent, replied({ action }));
  }
});

Deno.test("an elicitation that cannot be shown is cancelled, and a notice says why", async () => {
  const { take, sent, forms } = stream({ action: "accept", values: {} });
  const properties = Object.fromEntries(
    Array.from({ length: 1000 }, (_, at) => [`f${at}`, { type: "string" }]),
  );
  const [notice] = await take({ ...ELICITATION, requested_schema: { properties } });
  assert.deepEqual(forms, []);
  assert.deepEqual(sent, replied({ action: "cancel" }));
  assert.deepEqual(notice, {
    sessionUpdate: "notice",
    title: 'MCP "hub" asked a question, which was cancelled',
    description: "it has more than 16 fields",
  });
});

Deno.test("a question that the program withdraws is closed, and not answered", async () => {
  let signal: AbortSignal | undefined;
  const { take, asks, sent } = stream((_, over) => {
    signal = over;
    return new Promise((resolve) => {
      over.addEventListener("abort", () => resolve({ action: "cancel" }));
    });
  });
  await take(ELICITATION);
  assert.equal(signal?.aborted, false);
  asks.withdraw("r1");
  assert.equal(signal?.aborted, true);
  await new Promise<void>((resolve) => queueMicrotask(resolve));
  assert.deepEqual(sent, []);
});

Deno.test("askSafely() cancels without an asker, and when the asker throws", async () => {
  const { signal } = new AbortController();
  for (
    const ask of [undefined, () => Promise.reject(new Error("x")), () => {
      throw new Error("x");
    }]
  ) assert.deepEqual(await askSafely(ask, DRINKS_FORM, signal), { action: "cancel" });
});
