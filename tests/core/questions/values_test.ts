/**
 * Checking answers against a form, and reading what a person types.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { QuestionField, QuestionForm } from "core/questions/form.ts";
import { checkValues, readTyped } from "core/questions/values.ts";

const AB = [{ value: "a", label: "Ay" }, { value: "b", label: "Be, too" }];

function field(more: Partial<QuestionField>): QuestionField {
  return { name: "f", title: "f", kind: "text", required: false, ...more };
}

function form(...fields: readonly QuestionField[]): QuestionForm {
  return { mcp: "hub", message: "m", fields };
}

Deno.test("checkValues() accepts each kind of value", () => {
  for (
    const [of, value] of [
      [{}, "two\nlines\tof it"],
      [{ min: 2, max: 2 }, "😀😀"],
      [{ format: "email" }, "ada@example.org"],
      [{ format: "uri" }, "https://example.org/"],
      [{ format: "date" }, "2028-02-29"],
      [{ format: "date-time" }, "2026-01-31T12:00:00+01:00"],
      [{ format: "unheard-of" }, "anything"],
      [{ kind: "number" }, -1.5],
      [{ kind: "integer", min: 0 }, 0],
      [{ kind: "boolean", required: true }, false],
      [{ kind: "choice", options: AB }, "b"],
      [{ kind: "choice", options: AB, allows_other: true }, "cee"],
      [{ kind: "choices", options: AB }, ["b", "a"]],
      [{ kind: "choices", options: AB, allows_other: true }, ["a", "cee"]],
    ] as const
  ) {
    const checked = checkValues(form(field(of)), { f: value });
    assert.deepEqual(checked, { ok: true, value: { f: value } }, JSON.stringify(of));
  }
});

Deno.test("checkValues() states what each faulty value must be", () => {
  for (
    const [of, value, want] of [
      [{}, 1, "must be text"],
      [{}, "a\u001b[2J", "must have no control characters"],
      [{ min: 3 }, "ab", "must be at least 3 characters"],
      [{ max: 1 }, "ab", "must be at most 1 characters"],
      [{ format: "email" }, "ada", "must be an e-mail address"],
      [{ format: "uri" }, "example", "must be an address such as https://example.org/"],
      [{ format: "date" }, "2026-02-30", "must be a date such as 2026-01-31"],
      [{ format: "date-time" }, "2026-01-31", "must be a time such as 2026-01-31T12:00:00Z"],
      [{ kind: "number" }, "1", "must be a number"],
      [{ kind: "number" }, NaN, "must be a number"],
      [{ kind: "number", min: 2, max: 3 }, 4, "must be 2 to 3"],
      [{ kind: "integer" }, 1.5, "must be a whole number"],
      [{ kind: "integer" }, 2 ** 60, "must be a whole number"],
      [{ kind: "boolean" }, "yes", "must be yes or no"],
      [{ kind: "choice", options: AB }, "z", "must be one of the options"],
      [{ kind: "choice", options: AB }, ["a"], "must be one of the options"],
      [
        { kind: "choice", options: AB, allows_other: true },
        "z\u0000",
        "must have no control characters",
      ],
      [{ kind: "choices", options: AB }, "a", "must be a list of options"],
      [{ kind: "choices", options: AB }, ["a", "a"], "must name each option at most once"],
      [{ kind: "choices", options: AB }, ["a", "z"], "must be one of the options"],
      [{ kind: "choices", options: AB, max: 1 }, ["a", "b"], "must be at most 1 options"],
      [{ required: true }, "", "must be given"],
      [{ required: true }, undefined, "must be given"],
      [{ required: true, kind: "choices", options: AB }, [], "must be given"],
    ] as const
  ) {
    const checked = checkValues(form(field(of)), { f: value });
    assert.deepEqual(checked, { ok: false, error: [`f: ${want}`] }, JSON.stringify([of, value]));
  }
});

Deno.test("checkValues() keeps the form's order, drops empty values, finds every fault", () => {
  const two = form(field({ name: "one" }), field({ name: "two" }), field({ name: "three" }));
  const checked = checkValues(two, { three: "3", two: "", one: "1" });
  assert.ok(checked.ok);
  assert.deepEqual(Object.entries(checked.value), [["one", "1"], ["three", "3"]]);
  assert.deepEqual(checkValues(two, { one: 1, four: "4", ["__proto__"]: "x" }), {
    ok: false,
    error: [
      '"four": the question has no such field',
      '"__proto__": the question has no such field',
      "one: must be text",
    ],
  });
  assert.deepEqual(checkValues(two, ["1"]), { ok: false, error: ["the answer is not an object"] });
  assert.deepEqual(checkValues(form(), {}), { ok: true, value: {} });
  // A field's name may be that of a property which every object has.
  const odd = form(field({ name: "constructor" }));
  assert.deepEqual(checkValues(odd, {}), { ok: true, value: {} });
  const long = checkValues(two, { one: "x".repeat(10_000), two: "y".repeat(10_000) });
  assert.deepEqual(long, { ok: false, error: ["the answer has more than 16384 bytes"] });
});

Deno.test("readTyped() reads what a person types", () => {
  for (
    const [of, typed, want] of [
      [{}, "hi", "hi"],
      [{}, "", undefined],
      [{ default: "John" }, "", "John"],
      [{ kind: "integer" }, "7", 7],
      [{ kind: "number" }, "1.5", 1.5],
      [{ kind: "boolean", default: true }, "", true],
      [{ kind: "boolean" }, "No", false],
      [{ kind: "choice", options: AB }, "Ay", "a"],
      [{ kind: "choice", options: AB }, "2", "b"],
      [{ kind: "choice", options: AB, allows_other: true }, "cee", "cee"],
      [{ kind: "choices", options: AB }, "b, 1", ["b", "a"]],
      [{ kind: "choices", options: AB }, "Be, too", ["b"]],
      [{ kind: "choices", options: AB }, "1,a", ["a"]],
      [{ kind: "choices", options: AB, allows_other: true }, "1, cee", ["a", "cee"]],
    ] as const
  ) {
    const read = readTyped(field(of), typed);
    assert.deepEqual(read, { ok: true, value: want }, JSON.stringify([of, typed]));
  }
});

Deno.test("readTyped() states what a value must be", () => {
  for (
    const [of, typed, want] of [
      [{ kind: "integer" }, "1.5", /whole number/],
      [{ kind: "number" }, "x", /a number/],
      [{ kind: "number" }, " ", /a number/],
      [{ kind: "boolean" }, "maybe", /yes or no/],
      [{ kind: "choice", options: AB }, "z", /one of the options/],
      [{ kind: "choice", options: AB }, "0", /one of the options/],
      [{ kind: "choices", options: AB, max: 0 }, "a", /at most 0 options/],
      [{ required: true }, "", /must be given/],
    ] as const
  ) {
    const read = readTyped(field(of), typed);
    assert.ok(!read.ok && want.test(read.error), JSON.stringify(read));
  }
});
