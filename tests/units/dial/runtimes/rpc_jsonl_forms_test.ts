/**
 * Dialogs of a command-driven runtime as forms, and the answers that the runtime gets.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { QuestionReply } from "core/questions/form.ts";
import type { Message } from "units/dial/runtimes/message.ts";
import { dialogAnswer, readDialogForm } from "units/dial/runtimes/rpc_jsonl_forms.ts";

const TEXT = { name: "answer", kind: "text", required: false };
const FORMS: readonly (readonly [string, Message, unknown])[] = [
  ["a selection", { method: "select", title: "Drink?", options: ["Tea", "Coffee"] }, {
    name: "answer",
    title: "Drink?",
    kind: "choice",
    required: true,
    options: [{ value: "Tea", label: "Tea" }, { value: "Coffee", label: "Coffee" }],
  }],
  ["a line", { method: "input", title: "Name?", placeholder: "such as Ada" }, {
    ...TEXT,
    title: "Name?",
    description: "such as Ada",
  }],
  ["a text to edit", { method: "editor", title: "Plan", prefill: "1. look\n2. write" }, {
    ...TEXT,
    title: "Plan",
    default: "1. look\n2. write",
  }],
  ["a dialog without a title", { method: "input" }, { ...TEXT, title: "Answer" }],
];
for (const [name, dialog, field] of FORMS) {
  Deno.test(`readDialogForm() reads ${name}`, () => {
    const form = readDialogForm(dialog);
    assert.deepEqual(form, { ok: true, value: { mcp: null, message: "", fields: [field] } });
  });
}

const UNREADABLE: readonly (readonly [string, unknown])[] = [
  ["no list", "Tea"],
  ["none", []],
  ["a number", ["Tea", 7]],
  ["an empty one", ["Tea", ""]],
  ["two that are equal", ["Tea", "Tea"]],
  ["one with a control character", ["Tea\u001b[2J"]],
  ["too many", Array.from({ length: 65 }, (_, index) => `${index}`)],
];
for (const [name, options] of UNREADABLE) {
  Deno.test(`readDialogForm() refuses options that are ${name}`, () => {
    assert.equal(readDialogForm({ method: "select", title: "Drink?", options }).ok, false);
  });
}

const ANSWERS: readonly (readonly [string, QuestionReply, Message])[] = [
  ["the text", { action: "accept", values: { answer: "Tea" } }, { value: "Tea" }],
  ["an empty text", { action: "accept", values: {} }, { value: "" }],
  ["a refusal to answer", { action: "decline" }, { cancelled: true }],
  ["no answer", { action: "cancel" }, { cancelled: true }],
];
for (const [name, reply, wanted] of ANSWERS) {
  Deno.test(`dialogAnswer() sends ${name}`, () => assert.deepEqual(dialogAnswer(reply), wanted));
}
