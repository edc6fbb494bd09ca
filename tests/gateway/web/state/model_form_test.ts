/**
 * The form that connects a model, without a browser: what it sends, when it keeps a key, and where
 * it shows a refusal.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  emptyFields,
  faultsOf,
  formOf,
  keepsKey,
  type ModelCard,
  type ModelForm,
  modelName,
  parseModel,
  requestOf,
} from "gateway/web/state/model_form.ts";

const CARD: ModelCard = {
  provider: "openai-compatible",
  model: "m",
  baseUrl: "http://h/v1",
  isKeySet: true,
  keyEnd: "WXYZ",
};
const FORM: ModelForm = {
  provider: "openai-compatible",
  model: " m ",
  baseUrl: "http://h/v1/",
  key: "",
};

Deno.test("parseModel() keeps known values, and nothing of an unknown provider", () => {
  const wire = { provider: "openai-compatible", model: "m", base_url: "http://h/v1", key: "set" };
  assert.deepEqual(parseModel({ ...wire, key_ends_with: "WXYZ", more: 1 }), CARD);
  for (const value of [undefined, [], { provider: "x" }, { provider: "constructor" }]) {
    assert.equal(parseModel(value), undefined);
  }
});

Deno.test("keepsKey() holds for the same endpoint only", () => {
  assert.equal(keepsKey(FORM, CARD), true);
  assert.equal(keepsKey({ ...FORM, baseUrl: "http://other/v1" }, CARD), false);
  assert.equal(keepsKey({ ...FORM, provider: "openai" }, CARD), false);
  assert.equal(keepsKey(FORM, { ...CARD, isKeySet: false }), false);
});

Deno.test("emptyFields() names the missing required fields", () => {
  const none = { provider: "openai", model: "", baseUrl: "", key: "" } as const;
  assert.deepEqual(Object.keys(emptyFields(none, CARD)?.fields ?? {}), ["model", "key"]);
  const other = { ...none, provider: "openai-compatible" } as const;
  assert.deepEqual(Object.keys(emptyFields(other, CARD)?.fields ?? {}), ["base_url", "model"]);
  assert.equal(emptyFields({ ...none, provider: "demo" }, CARD), undefined);
});

Deno.test("requestOf() sends what belongs to the provider, and no empty key", () => {
  assert.deepEqual(requestOf("ada", FORM, true), {
    agent: "ada",
    provider: "openai-compatible",
    model: "m",
    base_url: "http://h/v1/",
    check: true,
  });
  const demo = requestOf("ada", { ...FORM, provider: "demo", key: "k" }, false);
  assert.deepEqual(demo, { agent: "ada", provider: "demo", check: false });
});

Deno.test("faultsOf() puts each line beside its field, and others above the buttons", () => {
  const problem = { status: 422, code: "model-unauthorized", detail: "No", hints: [] };
  const beside = faultsOf({ ...problem, errors: ["key: is not accepted", "other: x"] });
  assert.deepEqual(beside.fields, { key: "The key is not accepted" });
  assert.deepEqual([beside.summary, beside.canSkipTest], ["", false]);
  const above = faultsOf({ ...problem, code: "model-unreachable", errors: [] });
  assert.deepEqual([above.summary, above.canSkipTest], ["No", true]);
});

Deno.test("formOf() begins with the first real provider, and never with a key", () => {
  const demo = { ...CARD, provider: "demo", model: "", baseUrl: "", isKeySet: false } as const;
  assert.deepEqual(formOf(demo), { provider: "anthropic", model: "", baseUrl: "", key: "" });
  assert.equal(formOf(CARD).key, "");
  assert.equal(modelName(CARD), "m at http://h/v1");
  assert.equal(modelName(demo), "the built-in demo model");
});
