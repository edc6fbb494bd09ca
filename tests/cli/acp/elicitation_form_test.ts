/**
 * A program's question as a form of the editor, and what a person filled in as its answer.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { CreateElicitationResponse } from "@agentclientprotocol/sdk";
import {
  elicitationRequest,
  howToAnswer,
  personAnswer,
  readQuestion,
} from "cli/acp/elicitation_form.ts";
import type { QuestionField } from "core/questions/form.ts";

const OPTIONS = [{ value: "r", label: "Red", description: "warm" }, { value: "b", label: "Blue" }];
const TITLED = [{ const: "r", title: "Red", description: "warm" }, { const: "b", title: "Blue" }];
const BOTH = { sessionId: "s", agent: "ada", hasForms: true, hasUrls: true };

function field(more: Partial<QuestionField>): QuestionField {
  return { name: "a", title: "A", kind: "text", required: false, ...more };
}

function asked(fields: readonly QuestionField[], more: Record<string, unknown> = {}) {
  const form = { mcp: null, message: "Which one?", fields, ...more };
  const question = readQuestion({ question_id: "q-123456789", ...form, expires: 0 });
  assert.ok(question !== undefined);
  return question;
}

const FIELDS: readonly (readonly [string, QuestionField, Record<string, unknown>])[] = [
  [
    "a text with limits and a format",
    field({ description: "Yours", min: 1, max: 5, format: "email", default: "x@y.z" }),
    {
      a: {
        type: "string",
        title: "A",
        description: "Yours",
        minLength: 1,
        maxLength: 5,
        format: "email",
        default: "x@y.z",
      },
    },
  ],
  ["a format that ACP does not have", field({ format: "hex" }), {
    a: { type: "string", title: "A" },
  }],
  [
    "a whole number",
    field({ kind: "integer", min: 0, max: 9 }),
    { a: { type: "integer", title: "A", minimum: 0, maximum: 9 } },
  ],
  [
    "a yes or no",
    field({ kind: "boolean", default: false }),
    { a: { type: "boolean", title: "A", default: false } },
  ],
  [
    "a choice",
    field({ kind: "choice", options: OPTIONS }),
    { a: { type: "string", title: "A", oneOf: TITLED } },
  ],
  [
    "several choices",
    field({ kind: "choices", options: OPTIONS, min: 1, max: 2 }),
    { a: { type: "array", title: "A", items: { anyOf: TITLED }, minItems: 1, maxItems: 2 } },
  ],
  [
    "a choice with another answer",
    field({ kind: "choice", options: OPTIONS, allows_other: true }),
    {
      a: { type: "string", title: "A", oneOf: TITLED },
      "a (other)": { type: "string", title: "A: another answer" },
    },
  ],
];
for (const [name, given, properties] of FIELDS) {
  Deno.test(`elicitationRequest() shows ${name}`, () => {
    assert.deepEqual(elicitationRequest(asked([given]), BOTH), {
      mode: "form",
      sessionId: "s",
      message: 'The program of agent "ada" asks: Which one?',
      requestedSchema: { type: "object", properties, required: [] },
    });
  });
}

Deno.test("elicitationRequest() does not require a choice with a field beside it", () => {
  const open = field({ kind: "choice", options: OPTIONS, required: true, allows_other: true });
  const request = elicitationRequest(asked([open, field({ name: "b", required: true })]), BOTH);
  assert.ok(request !== undefined && "requestedSchema" in request);
  assert.deepEqual(request.requestedSchema, {
    type: "object",
    properties: {
      a: { type: "string", title: "A", oneOf: TITLED },
      "a (other)": { type: "string", title: "A: another answer" },
      b: { type: "string", title: "A" },
    },
    required: ["b"],
  });
});

Deno.test("elicitationRequest() shows an address only to an editor that can", () => {
  const question = asked([], { mcp: "wiki", url: "https://example.org/in", message: "Sign in" });
  assert.deepEqual(elicitationRequest(question, BOTH), {
    mode: "url",
    sessionId: "s",
    elicitationId: "q-123456789",
    url: "https://example.org/in",
    message: 'MCP "wiki" of agent "ada" asks: Sign in',
  });
  assert.equal(elicitationRequest(question, { ...BOTH, hasUrls: false }), undefined);
  assert.equal(elicitationRequest(asked([]), { ...BOTH, hasForms: false }), undefined);
});

const ANSWERS: readonly (readonly [string, CreateElicitationResponse, unknown])[] = [
  ["a decline", { action: "decline" }, { action: "declined" }],
  ["no answer", { action: "cancel" }, undefined],
  ["an option", { action: "accept", content: { a: "r" } }, { a: "r" }],
  ["another answer", { action: "accept", content: { a: "r", "a (other)": "Green" } }, {
    a: "Green",
  }],
  ["an empty other answer", { action: "accept", content: { a: "b", "a (other)": " " } }, {
    a: "b",
  }],
  ["several", { action: "accept", content: { a: "r", b: ["b"], "b (other)": "x" } }, {
    a: "r",
    b: ["b", "x"],
  }],
];
for (const [name, response, want] of ANSWERS) {
  Deno.test(`personAnswer() reads ${name}`, () => {
    const open = { options: OPTIONS, allows_other: true };
    const question = asked([
      field({ kind: "choice", required: true, ...open }),
      field({ name: "b", kind: "choices", ...open }),
    ]);
    const isWhole = response.action !== "accept";
    const value = isWhole ? want : { action: "answered", values: want };
    assert.deepEqual(personAnswer(question, response), { ok: true, value });
  });
}

Deno.test("personAnswer() names the fields that do not fit", () => {
  const question = asked([field({ required: true }), field({ name: "n", kind: "integer" })]);
  const got = personAnswer(question, { action: "accept", content: { n: 1.5, x: "?" } });
  assert.ok(!got.ok);
  assert.deepEqual(got.error.toSorted(), [
    '"x": the question has no such field',
    "a: must be given",
    "n: must be a whole number",
  ]);
});

Deno.test("howToAnswer() names the command; readQuestion() skips a damaged one", () => {
  assert.equal(
    howToAnswer(asked([]), (line) => `./dev run ${line}`),
    "A question waits for a person: Which one?\nAn operator answers it with " +
      "`./dev run fleetctl questions answer q-123456`.",
  );
  assert.equal(readQuestion({ question_id: "q" }), undefined);
});
