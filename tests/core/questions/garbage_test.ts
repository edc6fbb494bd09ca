/**
 * Questions of programs that send anything: reading never throws, and what is accepted fits the
 * event that carries it and can be answered.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { readAgentEvent } from "core/dial/event.ts";
import { readElicitation } from "core/questions/elicitation.ts";
import type { QuestionForm } from "core/questions/form.ts";
import { checkValues, readTyped } from "core/questions/values.ts";
import { parseForm } from "gateway/web/state/questions.ts";
import { readAskUser } from "units/dial/runtimes/ask_user.ts";
import { readUserInput } from "units/dial/runtimes/codex_user_input.ts";

/** Texts that programs send, also those that a terminal or an object would misread. */
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.constantFrom("__proto__", "constructor", "\u001b[2J", "\u202e", "", "a=b", "Ay, Be"),
);
/** Most are usable, so that whole forms are accepted too. */
const name = fc.oneof({ weight: 8, arbitrary: fc.constantFrom("a", "b", "c", "d", "e") }, text);
const options = fc.array(name, { maxLength: 4 });
const plain = (type: string) => ({ weight: 6, arbitrary: fc.constant({ type }) });
const property = fc.oneof(
  plain("string"),
  plain("integer"),
  plain("boolean"),
  fc.record({
    type: fc.constantFrom("string", "number", "integer", "boolean", "array", "object", 1),
    title: fc.option(text, { nil: undefined }),
    default: fc.jsonValue({ maxDepth: 1 }),
    minimum: fc.option(fc.double(), { nil: undefined }),
    maxLength: fc.option(fc.integer(), { nil: undefined }),
    format: fc.option(text, { nil: undefined }),
  }, { requiredKeys: ["type"] }),
  fc.record({ enum: options }),
  fc.record({ type: fc.constant("array"), items: fc.record({ enum: options }) }),
  fc.jsonValue({ maxDepth: 2 }),
);
const schema = fc.oneof(
  fc.record({ properties: fc.dictionary(name, property, { maxKeys: 6 }), required: options }),
  fc.jsonValue({ maxDepth: 3 }),
);

/** Checks what holds for every accepted form. */
function holds(form: QuestionForm): void {
  const payload = { question_id: "q", ...form, expires: 1 };
  const wire = JSON.parse(JSON.stringify(payload));
  const kind = "question_asked";
  assert.equal(readAgentEvent({ seq: 1, at: 1, kind, payload: wire }).kind, kind);
  assert.equal(parseForm(wire).fields.length, form.fields.length);
  for (const field of form.fields) {
    // A default is always an answer.
    const typed = readTyped(field, "");
    if (!typed.ok || typed.value === undefined) continue;
    const checked = checkValues({ ...form, fields: [field] }, { [field.name]: typed.value });
    const isEmpty = typed.value === "" || Array.isArray(typed.value) && typed.value.length === 0;
    assert.ok(checked.ok || isEmpty && field.required, JSON.stringify([field, checked]));
  }
}

Deno.test("readElicitation() accepts only what can be shown and answered", () => {
  let accepted = 0;
  fc.assert(
    fc.property(
      text,
      schema,
      fc.constantFrom(undefined, "form", "url", "x"),
      (message, of, mode) => {
        const asked = { mcp: "hub", message, mode, url: message, schema: of };
        const read = readElicitation(asked);
        if (!read.ok) return;
        holds(read.value);
        if (read.value.fields.length > 0) accepted++;
      },
    ),
    { numRuns: 500 },
  );
  assert.ok(accepted > 30, `${accepted} forms with fields`);
});

Deno.test("readAskUser() and readUserInput() accept only what can be shown and answered", () => {
  const question = fc.record({
    id: text,
    question: text,
    header: text,
    multiSelect: fc.boolean(),
    isOther: fc.boolean(),
    options: fc.option(fc.array(fc.record({ label: text, description: text }), { maxLength: 4 })),
  }, { requiredKeys: [] });
  const input = fc.oneof(
    fc.record({ questions: fc.array(question, { maxLength: 4 }) }),
    fc.dictionary(text, fc.jsonValue({ maxDepth: 2 })),
  );
  fc.assert(
    fc.property(input, (given) => {
      const asUser = readAskUser(given);
      if (asUser.ok) holds(asUser.value.form);
      const codex = readUserInput({ ...given });
      if (codex.ok) holds(codex.value.form);
    }),
    { numRuns: 500 },
  );
});

Deno.test("checkValues() keeps what it accepted", () => {
  const value = fc.oneof(text, fc.double(), fc.boolean(), options, fc.jsonValue({ maxDepth: 1 }));
  fc.assert(
    fc.property(schema, fc.dictionary(text, value), (of, values) => {
      const read = readElicitation({
        mcp: null,
        message: "",
        mode: "form",
        url: undefined,
        schema: of,
      });
      if (!read.ok) return;
      const checked = checkValues(read.value, values);
      if (checked.ok) assert.deepEqual(checkValues(read.value, checked.value), checked);
    }),
    { numRuns: 500 },
  );
});
