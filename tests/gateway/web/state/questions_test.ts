/**
 * Questions in the page: parsing, the values of a filled form, faults by field, and the answer as
 * people read it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { checkValues } from "core/questions/values.ts";
import {
  answerRows,
  askerOf,
  faultsByField,
  filledValues,
  parseForm,
  parseQuestions,
  waitsForAnswer,
} from "gateway/web/state/questions.ts";

const OPTIONS = [{ value: "b", label: "Blue" }, { value: "r", label: "Red" }];
const FORM = parseForm({
  mcp: "hub",
  message: "m",
  fields: [
    { name: "colour", title: "Colour", kind: "choice", required: true, options: OPTIONS },
    { name: "n", title: "Number", kind: "integer", required: false },
    { name: "sure", title: "Sure", kind: "boolean", required: false },
    { name: "all", title: "All", kind: "choices", allows_other: true, options: OPTIONS },
    { name: "note", title: "Note", kind: "text" },
  ],
});

for (
  const [what, mcp, call, wanted] of [
    ["the program's question tool", null, { mcp: null, tool: "AskUserQuestion" }, true],
    ["another built-in tool", null, { mcp: null, tool: "Bash" }, false],
    ["a call of the MCP that asks", "hub", { mcp: "hub", tool: "publish" }, true],
    ["a call of another MCP", "hub", { mcp: "git", tool: "git_log" }, false],
    ["the question tool while an MCP asks", "hub", { mcp: null, tool: "AskUserQuestion" }, false],
  ] as const
) {
  Deno.test(`waitsForAnswer() is ${wanted} for ${what}`, () => {
    const open = parseQuestions({ questions: [{ question_id: "q", mcp, fields: [] }] });
    assert.equal(waitsForAnswer(call, open), wanted);
    assert.equal(waitsForAnswer(call, []), false);
    const answered = open.map((item) => ({ ...item, action: "answered" as const }));
    assert.equal(waitsForAnswer(call, answered), false);
  });
}

Deno.test("parseQuestions() omits what is malformed, and reads a newer kind as text", () => {
  for (const value of [undefined, null, {}, { questions: 1 }, { questions: [1, {}, null] }]) {
    assert.deepEqual(parseQuestions(value), []);
  }
  const field = { name: "a", kind: "rating", options: "x", default: {}, min: "1" };
  const [item] = parseQuestions({ questions: [{ question_id: "q", fields: [field, 7] }] });
  assert.deepEqual(item, {
    id: "q",
    turnId: "",
    expires: 0,
    action: undefined,
    form: {
      mcp: null,
      message: "",
      fields: [
        { name: "a", title: "a", kind: "text", required: false, allows_other: false },
        { name: "", title: "", kind: "text", required: false, allows_other: false },
      ],
    },
  });
  assert.deepEqual([askerOf(FORM, "ada"), askerOf({ mcp: null }, "ada")], ["MCP hub", "ada"]);
});

Deno.test("filledValues() reads controls by number, also the text beside the options", () => {
  const filled = new Map([
    ["field-0", ["1"]],
    ["field-1", ["7"]],
    ["field-2", ["no"]],
    ["field-3", ["0", "other"]],
    ["field-3-other", [" green "]],
    ["field-4", ["two\nlines"]],
  ]);
  const values = filledValues(FORM, filled);
  assert.deepEqual(values, {
    colour: "r",
    n: 7,
    sure: false,
    all: ["b", "green"],
    note: "two\nlines",
  });
  assert.ok(checkValues(FORM, values).ok);
});

Deno.test("filledValues() leaves out empty values, and keeps invalid ones for the check", () => {
  const empty = filledValues(FORM, new Map([["field-1", [" "]], ["field-2", [""]]]));
  assert.deepEqual(checkValues(FORM, empty), { ok: false, error: ["colour: must be given"] });
  const odd = new Map([
    ["field-0", ["9"]],
    ["field-1", ["x"]],
    // Selected, but nothing was typed.
    ["field-3", ["other"]],
  ]);
  const checked = checkValues(FORM, filledValues(FORM, odd));
  assert.deepEqual(checked, {
    ok: false,
    error: ["colour: must be given", "n: must be a whole number"],
  });
});

Deno.test("faultsByField() finds the field of each fault", () => {
  const faults = faultsByField(FORM, ["colour: must be given", "the answer is too long", "n: x"]);
  assert.deepEqual([...faults], [
    ["colour", "must be given"],
    ["", "the answer is too long"],
    ["n", "x"],
  ]);
});

Deno.test("answerRows() shows titles and labels, in the order of the form", () => {
  const values = { note: "hi", sure: true, colour: "b", all: ["r", "green"], n: 0 };
  assert.deepEqual(answerRows(FORM, values).map(({ title, text }) => `${title}=${text}`), [
    "Colour=Blue",
    "Number=0",
    "Sure=Yes",
    "All=Red, green",
    "Note=hi",
  ]);
  assert.deepEqual(answerRows(FORM, { colour: {} as unknown as string }), []);
});
