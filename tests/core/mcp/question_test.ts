/**
 * Parsing a server's question, and the answer that a person types.
 *
 * @module
 */

import assert from "node:assert/strict";
import { parseReply, type QuestionField, readQuestion } from "core/mcp/question.ts";

function fieldOf(property: unknown, required: readonly string[] = []): QuestionField {
  const read = readQuestion({
    message: "m",
    requestedSchema: { type: "object", properties: { f: property }, required },
  });
  assert.ok(read.ok && read.value.mode === "form", JSON.stringify(read));
  const [field] = read.value.fields;
  assert.ok(field !== undefined);
  return field;
}

Deno.test("readQuestion() reads each kind of field, and its default", () => {
  for (
    const [property, type, typed, want] of [
      [{ type: "string" }, "string", "hi", "hi"],
      [{ type: "string", default: "John" }, "string", "", "John"],
      [{ type: "integer", minimum: 1, maximum: 9 }, "integer", "7", 7],
      [{ type: "number" }, "number", "1.5", 1.5],
      [{ type: "boolean", default: true }, "boolean", "", true],
      [{ type: "boolean" }, "boolean", "No", false],
      [{ type: "string", enum: ["a", "b"], enumNames: ["Ay", "Be"] }, "choice", "Be", "b"],
      [{ type: "string", oneOf: [{ const: "a", title: "Ay" }] }, "choice", "1", "a"],
      [{ type: "array", items: { type: "string", enum: ["a", "b"] } }, "choices", "b, 1", [
        "b",
        "a",
      ]],
      [
        { type: "array", items: { anyOf: [{ const: "x", title: "Ex" }] }, default: ["x"] },
        ...["choices", "", ["x"]] as const,
      ],
      [{ type: "string" }, "string", "", undefined],
    ] as const
  ) {
    const field = fieldOf(property);
    assert.equal(field.type, type);
    assert.deepEqual(parseReply(field, typed), { ok: true, value: want }, JSON.stringify(property));
  }
});

Deno.test("parseReply() says what a value must be", () => {
  for (
    const [property, typed, want] of [
      [{ type: "integer" }, "1.5", /whole number/],
      [{ type: "number" }, "x", /a number/],
      [{ type: "number", minimum: 2, maximum: 3 }, "4", /2 to 3/],
      [{ type: "string", minLength: 3 }, "ab", /at least 3 characters/],
      [{ type: "boolean" }, "maybe", /yes or no/],
      [{ type: "string", enum: ["a"] }, "z", /one of the choices/],
      [{ type: "string", enum: ["a"] }, "0", /one of the choices/],
      [{ type: "array", items: { enum: ["a"] }, maxItems: 0 }, "a", /at most 0 choices/],
    ] as const
  ) {
    const parsed = parseReply(fieldOf(property), typed);
    assert.ok(!parsed.ok && want.test(parsed.error), JSON.stringify(parsed));
  }
  const missing = parseReply(fieldOf({ type: "string" }, ["f"]), "");
  assert.ok(!missing.ok && /must be given/.test(missing.error));
});

Deno.test("readQuestion() refuses a malformed, too large or unprintable question", () => {
  const form = (properties: unknown) => ({ message: "m", requestedSchema: { properties } });
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [at, { type: "string" }]));
  for (
    const params of [
      undefined,
      form(many),
      form({ a: { type: "object" } }),
      form({ a: { type: "array", items: { type: "string" } } }),
      form({ a: { type: "string", enum: [1] } }),
      { mode: "url", message: "m", url: "javascript:alert(1)" },
      { mode: "url", message: "m", url: "http://example.org/x" },
      { mode: "url", message: "m", url: `https://x.example/${"a".repeat(3_000)}` },
      { mode: "url", message: "m" },
    ]
  ) assert.equal(readQuestion(params).ok, false, JSON.stringify(params)?.slice(0, 80));
  const shown = readQuestion({ message: "a\u001b[2Jb\u202ec\n" });
  assert.deepEqual(shown, { ok: true, value: { mode: "form", message: "a [2Jb c", fields: [] } });
  const url = readQuestion({ mode: "url", message: "m", url: "http://127.0.0.1:8/x" });
  assert.ok(url.ok && url.value.mode === "url");
});
