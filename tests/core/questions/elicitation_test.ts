/**
 * Reading a server's question: each kind of field, and what is refused.
 *
 * @module
 */

import assert from "node:assert/strict";
import { readElicitation } from "core/questions/elicitation.ts";
import type { QuestionField } from "core/questions/form.ts";

const NOTHING = { mcp: "hub", message: "m", mode: undefined, url: undefined, schema: undefined };
const read = (of: Readonly<Record<string, unknown>>) => readElicitation({ ...NOTHING, ...of });
const form = (properties: unknown, required?: unknown) =>
  read({ schema: { type: "object", properties, required } });

function fieldOf(property: unknown): QuestionField {
  const found = form({ f: property });
  assert.ok(found.ok, JSON.stringify(found));
  const [field] = found.value.fields;
  assert.ok(field !== undefined);
  return field;
}

Deno.test("readElicitation() reads each kind of field", () => {
  const AB = [{ value: "a", label: "Ay" }, { value: "b", label: "Be" }];
  const titled = [{ const: "a", title: "Ay" }, { const: "b", title: "Be" }];
  for (
    const [property, want] of [
      [{ type: "string" }, { kind: "text" }],
      [{ type: "string", default: "John" }, { kind: "text", default: "John" }],
      [
        { type: "string", title: "Name", description: "yours", minLength: 3, maxLength: 50 },
        { kind: "text", title: "Name", description: "yours", min: 3, max: 50 },
      ],
      [
        { type: "string", format: "email", default: "a@b" },
        { kind: "text", format: "email", default: "a@b" },
      ],
      [{ type: "integer", minimum: 1, maximum: 9 }, { kind: "integer", min: 1, max: 9 }],
      [{ type: "number", default: 1.5 }, { kind: "number", default: 1.5 }],
      [{ type: "boolean", default: true }, { kind: "boolean", default: true }],
      [{ type: "string", enum: ["a", "b"], enumNames: ["Ay", "Be"] }, {
        kind: "choice",
        options: AB,
      }],
      [{ enum: ["a"] }, { kind: "choice", options: [{ value: "a", label: "a" }] }],
      [{ type: "string", oneOf: titled, default: "b" }, {
        kind: "choice",
        options: AB,
        default: "b",
      }],
      [{ type: "array", items: { type: "string", enum: ["a"] }, minItems: 1, maxItems: 2 }, {
        kind: "choices",
        options: [{ value: "a", label: "a" }],
        min: 1,
        max: 2,
      }],
      [{ type: "array", items: { anyOf: titled }, default: ["a"] }, {
        kind: "choices",
        options: AB,
        default: ["a"],
      }],
    ] as const
  ) {
    const found: Readonly<Record<string, unknown>> = { ...fieldOf(property) };
    assert.deepEqual(found, { name: "f", title: "f", required: false, ...want });
  }
});

Deno.test("readElicitation() leaves out a default that the field does not accept", () => {
  for (
    const property of [
      { type: "string", default: 1 },
      { type: "integer", default: 1.5 },
      { type: "boolean", default: "yes" },
      { enum: ["a"], default: "z" },
      { type: "array", items: { enum: ["a"] }, default: "a" },
      { type: "string", minLength: 5, default: "x" },
    ]
  ) assert.equal(fieldOf(property).default, undefined, JSON.stringify(property));
});

Deno.test("readElicitation() reads a form without fields, and which fields are required", () => {
  assert.deepEqual(read({}), { ok: true, value: { mcp: "hub", message: "m", fields: [] } });
  const found = form({ a: { type: "string" }, b: { type: "string" } }, ["b", "c"]);
  assert.ok(found.ok);
  assert.deepEqual(found.value.fields.map(({ required }) => required), [false, true]);
});

Deno.test("readElicitation() refuses malformed and too large questions, and says why", () => {
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, { type: "string" }]));
  const options = (count: number) => ({ enum: Array.from({ length: count }, (_, at) => `o${at}`) });
  assert.ok(form(many(16)).ok && form({ a: options(64) }).ok);
  for (
    const [found, want] of [
      [form(many(17)), /more than 16 fields/],
      [form(many(1000)), /more than 16 fields/],
      [form({ a: options(65) }), /"a" has more than 64 options/],
      [form({ a: { type: "string", description: "x".repeat(20_000) } }), /more than 16384 bytes/],
      [read({ message: "é".repeat(9_000) }), /more than 16384 bytes/],
      [form({ a: { type: "object" } }), /"a" has an unsupported type/],
      [form({ a: { type: ["string", "null"] } }), /unsupported/],
      [form({ a: "text" }), /unsupported/],
      [form({ a: { type: "array", items: { type: "string" } } }), /unsupported/],
      [form({ a: { type: "string", enum: [1] } }), /unsupported/],
      [form({ a: { oneOf: [{ const: "x" }, "y"] } }), /unsupported/],
      [form({ a: { enum: ["x", "x"] } }), /options of its field "a" are unusable/],
      [form({ a: { enum: ["x\u0007"] } }), /"a" has control characters/],
      [form({ "": { type: "string" } }), /name of a field/],
      [form({ "a\u001b[1m": { type: "string" } }), /name of a field/],
      [form({ ["n".repeat(129)]: { type: "string" } }), /name of a field/],
      [form(JSON.parse('{"__proto__":{"type":"string"}}')), /name of a field/],
      [form([]), /no properties/],
      [read({ schema: "garbage" }), /not an object/],
      [read({ mode: "openai/userVerification" }), /mode is unknown/],
    ] as const
  ) assert.ok(!found.ok && want.test(found.error), JSON.stringify(found).slice(0, 200));
});

Deno.test("readElicitation() removes control characters from what people read", () => {
  const found = read({ message: "a\u001b[2Jb\u202ec\r\nd\u0000\n" });
  assert.ok(found.ok);
  assert.equal(found.value.message, "a [2Jb c\nd");
  assert.equal(fieldOf({ type: "string", title: "a\nb\u0007" }).title, "a b");
});

Deno.test("readElicitation() shows an https address, and http only at a terminal", () => {
  const url = (address: unknown, isAtTerminal = false) =>
    readElicitation({ ...NOTHING, mode: "url", url: address }, { isAtTerminal });
  const good = url("https://vendor.example/x?y=1");
  assert.ok(good.ok && good.value.url === "https://vendor.example/x?y=1");
  assert.deepEqual(good.value.fields, []);
  assert.ok(url("http://127.0.0.1:8/x", true).ok);
  for (
    const [address, want] of [
      ["http://127.0.0.1:8/x", /not https/],
      ["http://example.org/x", /not https/],
      ["javascript:alert(1)", /not https/],
      ["https://bank.example@evil.example/", /user name/],
      [`https://x.example/${"a".repeat(3_000)}`, /invalid/],
      [undefined, /invalid/],
      ["nowhere", /invalid/],
    ] as const
  ) {
    const found = url(address);
    assert.ok(!found.ok && want.test(found.error), JSON.stringify(found));
  }
  assert.equal(url("http://example.org/x", true).ok, false);
});
