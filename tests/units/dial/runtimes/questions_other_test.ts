/**
 * Questions of codex and of ACP programs to a person: the forms that people see, and the answers in
 * each protocol's terms.
 *
 * @module
 */

import assert from "node:assert/strict";
import { agent, methods } from "@agentclientprotocol/sdk";
import type { QuestionForm, QuestionReply } from "core/questions/form.ts";
import { settle } from "tests/fakes/clock.ts";
import { serve, setUp } from "tests/units/dial/runtimes/acp_scene.ts";
import { withTime } from "tests/units/dial/runtimes/driver_scene.ts";
import { createCodexAsks } from "units/dial/runtimes/codex_asks.ts";
import { readUserInput } from "units/dial/runtimes/codex_user_input.ts";
import type { RuntimeUpdate } from "units/dial/runtimes/driver.ts";
import { recordedAsks } from "tests/units/dial/runtimes/recorded_asks.ts";
import type { Message } from "units/dial/runtimes/message.ts";
import type { QuestionAsker } from "units/dial/runtimes/question.ts";

const SCHEMA = {
  type: "object" as const,
  properties: { n: { type: "integer" as const, minimum: 1 } },
  required: ["n"],
};
const FIELDS = [{ name: "n", title: "n", kind: "integer", required: true, min: 1 }];
const ELICITATION = {
  serverName: "hub",
  _meta: null,
  mode: "form",
  message: "How many?",
  requestedSchema: SCHEMA,
};
const USER_INPUT = {
  questions: [
    {
      id: "drink",
      header: "Drink",
      question: "Which drink?",
      isOther: true,
      isSecret: false,
      options: [{ label: "Tea", description: "hot" }, { label: "Coffee", description: "" }],
    },
    { id: "why", header: "Why", question: "Why?", isOther: false, isSecret: false, options: null },
  ],
};

/** The questions of codex; `reply` answers all of them. */
function codex(reply: QuestionReply | QuestionAsker) {
  const { deps, sent, forms } = recordedAsks(reply);
  const asks = createCodexAsks(deps);
  const take = async (method: string, params: Message) => {
    const notices = asks.take({ id: 7, method, params });
    await settle();
    return notices;
  };
  return { asks, sent, forms, take };
}
const ELICIT = "mcpServer/elicitation/request";

Deno.test("codex: an MCP's question is answered with the person's values", async () => {
  const { take, sent, forms } = codex({ action: "accept", values: { n: 3 } });
  assert.deepEqual(await take(ELICIT, ELICITATION), []);
  assert.deepEqual(forms, [{ mcp: "hub", message: "How many?", fields: FIELDS }]);
  const result = { action: "accept", content: { n: 3 }, _meta: null };
  assert.deepEqual(sent, [{ id: 7, result }]);
});

for (
  const [what, params, wanted] of [
    ["the program's own form", { ...ELICITATION, mode: "openai/form" }, { n: 3 }],
    ["an address", { ...ELICITATION, mode: "url", url: "https://vendor.example/" }, null],
  ] as const
) {
  Deno.test(`codex: ${what} is accepted`, async () => {
    const { take, sent } = codex({ action: "accept", values: { n: 3 } });
    await take(ELICIT, params);
    assert.deepEqual(sent, [{
      id: 7,
      result: { action: "accept", content: wanted, _meta: null },
    }]);
  });
}

for (const action of ["decline", "cancel"] as const) {
  Deno.test(`codex: a question without an answer is ${action}`, async () => {
    const { take, sent } = codex({ action });
    await take(ELICIT, ELICITATION);
    await take("item/tool/requestUserInput", USER_INPUT);
    assert.deepEqual(sent.map(({ result }) => result), [
      { action, content: null, _meta: null },
      { answers: {} },
    ]);
  });
}

Deno.test("codex: a question that cannot be shown is cancelled, with a notice", async () => {
  const { take, sent, forms } = codex({ action: "decline" });
  for (
    const [method, params, why] of [
      [ELICIT, { ...ELICITATION, mode: "openai/userVerification" }, "its mode is unknown"],
      [ELICIT, { ...ELICITATION, requestedSchema: [] }, "its schema is not an object"],
      ["item/tool/requestUserInput", { questions: [] }, "it has no questions"],
    ] as const
  ) {
    const [notice] = await take(method, params);
    assert.equal((notice as { description?: string }).description, why);
  }
  assert.deepEqual(forms, []);
  assert.deepEqual(sent.map(({ result }) => (result as Message).action), [
    "cancel",
    "cancel",
    undefined,
  ]);
});

Deno.test("codex: a question that the program withdraws is not answered", async () => {
  const { take, asks, sent } = codex((_, over) =>
    new Promise((resolve) => {
      over.addEventListener("abort", () => resolve({ action: "cancel" }));
    })
  );
  await take(ELICIT, ELICITATION);
  asks.withdraw(7);
  await settle();
  assert.deepEqual(sent, []);
});

Deno.test("readUserInput() makes a form, and answers with a list for each question", () => {
  const read = readUserInput(USER_INPUT);
  assert.ok(read.ok);
  assert.deepEqual(read.value.form.fields, [
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
    { name: "why", title: "Why?", kind: "text", required: true },
  ]);
  assert.deepEqual(read.value.answered({ drink: "Mate", why: "because" }), {
    answers: { drink: { answers: ["Mate"] }, why: { answers: ["because"] } },
  });
  for (
    const [questions, want] of [
      [undefined, /no questions/],
      [[{ id: "a", question: "Key?", isSecret: true }], /a secret/],
      [[{ id: "a" }], /unreadable/],
      [[{ id: "", question: "q" }], /name of a field/],
      [[{ id: "a", question: "q", options: [{ label: "x" }, { label: "x" }] }], /unusable/],
    ] as const
  ) {
    const bad = readUserInput({ questions });
    assert.ok(!bad.ok && want.test(bad.error), JSON.stringify(bad));
  }
});

/** Runs a turn in which an ACP program asks; returns its answer and what the turn reported. */
async function acpAsks(
  asked: Parameters<typeof elicitationOf>[0],
  askQuestion: QuestionAsker,
  during: "answered" | "cancelled" = "answered",
) {
  let answered: unknown;
  let capabilities: unknown;
  const seen: RuntimeUpdate[] = [];
  const program = agent({ name: "fake" })
    .onRequest(methods.agent.session.new, () => ({ sessionId: "s" }))
    .onRequest(methods.agent.initialize, ({ params }) => {
      capabilities = params.clientCapabilities;
      return { protocolVersion: 1, agentCapabilities: {} };
    })
    .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
      const request = elicitationOf(asked, params.sessionId);
      answered = await client.request(methods.client.elicitation.create, request);
      return { stopReason: during === "cancelled" ? "cancelled" : "end_turn" };
    });
  const { driver, host } = setUp((call) => serve(call, program), { askQuestion });
  const session = await driver.start();
  const turn = session.prompt({ turnId: "t", text: "go" }, (update) => {
    seen.push(update);
    return Promise.resolve();
  });
  if (during === "cancelled") {
    await settle();
    await session.cancel();
  }
  await turn;
  await withTime(host, session.close(1_000));
  return { answered, capabilities, seen };
}

function elicitationOf(
  of: { readonly schema?: unknown; readonly url?: string },
  sessionId: string,
) {
  const base = { sessionId, message: "How many?" };
  return of.url === undefined
    ? { ...base, mode: "form" as const, requestedSchema: of.schema as typeof SCHEMA }
    : { ...base, mode: "url" as const, url: of.url, elicitationId: "e" };
}

Deno.test("acp: a program's question is answered with the person's values", async () => {
  const forms: QuestionForm[] = [];
  const { answered, capabilities } = await acpAsks({ schema: SCHEMA }, (form) => {
    forms.push(form);
    return Promise.resolve({ action: "accept", values: { n: 3 } });
  });
  // An address without a form would also be asked for sign-ins.
  const { elicitation } = capabilities as { readonly elicitation: unknown };
  assert.deepEqual(elicitation, { form: {} });
  assert.deepEqual(forms, [{ mcp: null, message: "How many?", fields: FIELDS }]);
  assert.deepEqual(answered, { action: "accept", content: { n: 3 } });
});

Deno.test("acp: a person declines a question; a failed one is cancelled", async () => {
  for (
    const [ask, action] of [
      [() => Promise.resolve({ action: "decline" as const }), "decline"],
      [() => Promise.reject(new Error("x")), "cancel"],
    ] as const
  ) {
    const { answered } = await acpAsks({ schema: SCHEMA }, ask);
    assert.deepEqual(answered, { action });
  }
});

Deno.test("acp: a question that cannot be shown is cancelled, with a notice", async () => {
  const { answered, seen } = await acpAsks(
    { url: "http://vendor.example/" },
    () => Promise.reject(new Error("no question is expected")),
  );
  assert.deepEqual(answered, { action: "cancel" });
  assert.deepEqual(seen, [{
    kind: "notice",
    text: "The program asked a question, which was cancelled: its url is not https",
  }]);
});

Deno.test("acp: a cancelled turn withdraws its question", async () => {
  const { answered } = await acpAsks(
    { schema: SCHEMA },
    (_, over) =>
      new Promise((resolve) => {
        over.addEventListener("abort", () => resolve({ action: "cancel" }));
      }),
    "cancelled",
  );
  assert.deepEqual(answered, { action: "cancel" });
});
