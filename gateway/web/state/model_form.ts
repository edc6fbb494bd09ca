/**
 * The form that connects a model: its initial values, its request body, and the place of each
 * refusal. Pure; it never stores a key.
 *
 * @module
 */

import { type Problem, record, text } from "gateway/web/state/wire.ts";

/** Providers in the order of the form, with their names and example model ids. */
export const PROVIDERS = {
  anthropic: { label: "Anthropic", example: "claude-sonnet-4-5" },
  openai: { label: "OpenAI", example: "gpt-5" },
  "openai-compatible": { label: "Another endpoint", example: "llama3.2" },
  demo: { label: "Demo model", example: "" },
} as const;
/** A provider's id. */
export type Provider = keyof typeof PROVIDERS;

/** An agent's model, without the key. */
export interface ModelCard {
  readonly provider: Provider;
  readonly model: string;
  readonly baseUrl: string;
  readonly isKeySet: boolean;
  /** Last characters of the key; empty when it is too short to reveal any. */
  readonly keyEnd: string;
}

/** Values of the form. */
export interface ModelForm {
  readonly provider: Provider;
  readonly model: string;
  readonly baseUrl: string;
  readonly key: string;
}

/** Body of `POST /api/model`. */
export interface ModelRequest {
  readonly agent: string;
  readonly provider: Provider;
  readonly model?: string;
  readonly base_url?: string;
  readonly key?: string;
  readonly check: boolean;
}

/** Form fields that can have a fault. */
export const FIELDS = ["base_url", "model", "key"] as const;
/** A field's name. */
export type Field = typeof FIELDS[number];

/** Faults by their place in the form. */
export interface FormFaults {
  readonly fields: Readonly<Partial<Record<Field, string>>>;
  /** The message above the buttons. */
  readonly summary: string;
  /** Whether storing without the test may work. */
  readonly canSkipTest: boolean;
}

const LABELS: Readonly<Record<Field, string>> = {
  base_url: "The address",
  model: "The model",
  key: "The key",
};
/** An endpoint that is unreachable now may still be correct. */
const SKIPPABLE = new Set([
  "model-unreachable",
  "model-garbage",
  "model-overloaded",
  "model-quota-exhausted",
  "model-not-found",
]);

/** Parses an answer about a model; undefined when malformed. */
export function parseModel(value: unknown): ModelCard | undefined {
  const given = record(value);
  const provider = text(given.provider);
  if (!Object.hasOwn(PROVIDERS, provider)) return undefined;
  return {
    provider: provider as Provider,
    model: text(given.model),
    baseUrl: text(given.base_url),
    isKeySet: given.key === "set",
    keyEnd: text(given.key_ends_with),
  };
}

/** Describes a model in a sentence. */
export function modelName({ provider, model, baseUrl }: ModelCard): string {
  if (provider === "demo") return "the built-in demo model";
  return `${model} at ${provider === "openai-compatible" ? baseUrl : PROVIDERS[provider].label}`;
}

/** Initial values of the form: the current model, or the first real provider. */
export function formOf(card: ModelCard): ModelForm {
  const provider = card.provider === "demo" ? "anthropic" : card.provider;
  const isOther = provider === "openai-compatible";
  return { provider, model: card.model, baseUrl: isOther ? card.baseUrl : "", key: "" };
}

/** Whether an empty key field keeps the stored key. */
export function keepsKey(form: ModelForm, card: ModelCard): boolean {
  if (!card.isKeySet || form.provider !== card.provider) return false;
  const plain = (address: string) => address.trim().replace(/\/+$/, "");
  return form.provider !== "openai-compatible" || plain(form.baseUrl) === plain(card.baseUrl);
}

/** Faults that can be found without a request. */
export function emptyFields(form: ModelForm, card: ModelCard): FormFaults | undefined {
  if (form.provider === "demo") return undefined;
  const isOther = form.provider === "openai-compatible";
  const fields: Partial<Record<Field, string>> = {};
  if (isOther && form.baseUrl.trim() === "") fields.base_url = "Enter the address of the endpoint";
  if (form.model.trim() === "") fields.model = "Enter the name of a model";
  if (!isOther && form.key.trim() === "" && !keepsKey(form, card)) {
    fields.key = `Enter a key for ${PROVIDERS[form.provider].label}`;
  }
  return Object.keys(fields).length === 0 ? undefined : { fields, summary: "", canSkipTest: false };
}

/** Returns the request body. */
export function requestOf(agent: string, form: ModelForm, check: boolean): ModelRequest {
  const { provider } = form;
  if (provider === "demo") return { agent, provider, check };
  const key = form.key.trim();
  return {
    agent,
    provider,
    check,
    model: form.model.trim(),
    ...(provider === "openai-compatible" ? { base_url: form.baseUrl.trim() } : {}),
    ...(key === "" ? {} : { key }),
  };
}

/** Assigns a refusal to its place in the form. */
export function faultsOf(problem: Problem): FormFaults {
  const fields: Partial<Record<Field, string>> = {};
  for (const line of problem.errors) {
    const found = /^(?:body\.)?(base_url|model|key): (.+)$/.exec(line);
    const field = found?.[1] as Field | undefined;
    if (field === undefined) continue;
    fields[field] = `${LABELS[field]} ${found?.[2]}`;
  }
  // A fault beside a field is not repeated in the summary.
  const summary = Object.keys(fields).length === 0 ? problem.detail : "";
  return { fields, summary, canSkipTest: SKIPPABLE.has(problem.code) };
}
