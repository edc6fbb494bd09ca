/**
 * How a person at the terminal, or `--answer`, answers a server's questions in the middle of a
 * call.
 *
 * @module
 */

import assert from "node:assert/strict";
import { answererOf, parseAnswers } from "cli/mcp/questions.ts";
import { readElicitation } from "core/questions/elicitation.ts";
import type { QuestionForm } from "core/questions/form.ts";

const TERMINAL = { columns: 80, color: false, live: true };

function question(asked: Readonly<Record<string, unknown>>): QuestionForm {
  const { message, mode, url, schema } = asked;
  const read = readElicitation({ mcp: "hub", message, mode, url, schema });
  assert.ok(read.ok);
  return read.value;
}

const FORM = question({
  message: "Who?",
  schema: {
    properties: { name: { type: "string" }, age: { type: "integer", default: 30 } },
    required: ["name"],
  },
});
const LINK = question({ mode: "url", message: "Sign in", url: "https://vendor.example/x" });

/** A person who types these lines; undefined stands for no terminal. */
function person(...typed: readonly (string | undefined)[]) {
  const asked: string[] = [];
  const lines = [...typed];
  return {
    asked,
    promptLine: (label: string) => {
      asked.push(label);
      return Promise.resolve(lines.shift());
    },
  };
}

Deno.test("answererOf() lets a person fill in a form, repeats it after errors", async () => {
  const { asked, promptLine } = person("", "Ada", "old", "");
  const answer = answererOf({ terminal: TERMINAL, promptLine }, "hub", new Map());
  assert.deepEqual(await answer?.(FORM), { action: "accept", values: { name: "Ada", age: 30 } });
  assert.match(asked[0] ?? "", /^MCP "hub" asks: Who\?\n {2}name \(type "!" to decline\): $/);
  assert.match(asked[1] ?? "", /must be given/);
  assert.match(asked[3] ?? "", /must be a whole number/);
});

Deno.test("answererOf() declines, cancels and never answers without a person", async () => {
  const ask = (line: string | undefined, about: QuestionForm) =>
    answererOf({ terminal: TERMINAL, ...person(line) }, "hub", new Map())?.(about);
  assert.deepEqual(await ask("!", FORM), { action: "decline" });
  assert.deepEqual(await ask(undefined, FORM), { action: "cancel" });
  assert.deepEqual(await ask("", LINK), { action: "decline" });
  assert.deepEqual(await ask("y", LINK), { action: "accept", values: {} });
  assert.deepEqual(await ask(undefined, LINK), { action: "cancel" });
  const deaf = { ...TERMINAL, live: false };
  assert.equal(answererOf({ terminal: deaf, ...person() }, "hub", new Map()), undefined);
});

Deno.test("answererOf() shows the host of a URL; --answer needs no terminal", async () => {
  const { asked, promptLine } = person("y");
  await answererOf({ terminal: TERMINAL, promptLine }, "hub", new Map())?.(LINK);
  assert.match(asked[0] ?? "", /at vendor\.example:\n {2}https:\/\/vendor\.example\/x\n/);
  const given = parseAnswers(["name=Ada=Byron", "age=36"]);
  assert.ok(given.ok);
  const deaf = { terminal: { ...TERMINAL, live: false }, ...person(undefined) };
  const answer = answererOf(deaf, "hub", given.value);
  assert.deepEqual(await answer?.(FORM), {
    action: "accept",
    values: { name: "Ada=Byron", age: 36 },
  });
  assert.equal(parseAnswers(["x"]).ok, false);
  assert.equal(parseAnswers(["x=1", "x=2"]).ok, false);
});
