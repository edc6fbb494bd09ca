/**
 * Which model an agent of the built-in runtime uses: the stored choice, the owner's new choice, and
 * the secrets that the change affects. Pure; docs/runtime.md defines the names.
 *
 * The agent's own shard stores the complete choice, including the address, so that it never mixes
 * with the shared shard. A key is bound to the endpoint that it was given for. It is kept only
 * while provider and address stay the same. So a person who may choose an address never obtains a
 * key.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import type { AgentName, KeyName } from "core/names.ts";
import { isLoopbackName } from "core/net/host_name.ts";
import { err, ok, type Result } from "core/result.ts";
import type { RuntimeDefinition } from "core/runtimes/definition.ts";
import { resolveKey } from "core/secrets/resolve.ts";
import type { SecretShards } from "core/secrets/shards.ts";

/** Model providers that the built-in runtime supports. */
export const MODEL_PROVIDERS = ["anthropic", "openai", "openai-compatible", "demo"] as const;
/** One of `MODEL_PROVIDERS`. */
export type ModelProvider = typeof MODEL_PROVIDERS[number];
/** How much a model thinks before it answers. */
export const MODEL_EFFORTS = ["low", "medium", "high"] as const;
/** One of `MODEL_EFFORTS`. */
export type ModelEffort = typeof MODEL_EFFORTS[number];

/** Program of the built-in runtime, whatever the name of its definition on a host. */
const OWN_PROGRAM = "{lib}/fleetctl-runtime";

/**
 * Refuses a provider with which the built-in runtime would not start. Other runtimes define their
 * own provider names, so all are allowed.
 */
export function checkProvider(
  { name, command }: Pick<RuntimeDefinition, "name" | "command">,
  provider: string | undefined,
): Result<void> {
  const isKnown = MODEL_PROVIDERS.some((one) => one === provider);
  if (provider === undefined || isKnown || command !== OWN_PROGRAM) return ok(undefined);
  return err(refusal(
    "provider-unknown",
    `Cannot use provider "${provider}" with runtime "${name}": unknown provider, must be ` +
      "one of " +
      MODEL_PROVIDERS.join(", "),
    { kind: "usage", hints: ["fleetctl agents model set --help"] },
  ));
}

/** Limits of the entered values, in characters. */
export const MODEL_CHOICE_LIMITS = { modelMax: 200, baseUrlMax: 2_000, keyMax: 8_192 } as const;

/** The model that an owner or operator chooses for an agent. */
export interface ModelChoice {
  readonly provider: ModelProvider;
  /** Model id as the provider defines it; the demo model has none. */
  readonly model?: string | undefined;
  /**
   * Required for `openai-compatible`; otherwise an alternative endpoint with the provider's API.
   */
  readonly baseUrl?: string | undefined;
  /** When absent, the stored key of the same endpoint is kept. */
  readonly key?: string | undefined;
  /** How much the model thinks; absent means the provider's default. */
  readonly effort?: ModelEffort | undefined;
  /** The model of the same endpoint that answers when this one is overloaded. */
  readonly fallback?: string | undefined;
}

/** A stored model of an agent; `key` never leaves the process that reads it. */
export interface StoredModel {
  readonly provider: ModelProvider;
  readonly model: string | undefined;
  readonly baseUrl: string | undefined;
  readonly key: string | undefined;
  readonly effort?: string | undefined;
  readonly fallback?: string | undefined;
}

/** A valid choice and the values to store; undefined removes a key. */
export interface DecidedModel extends StoredModel {
  readonly secrets: ReadonlyMap<KeyName, string | undefined>;
}

/** The public view of a model, without its key. */
export interface ModelCard {
  readonly provider: ModelProvider;
  readonly model: string | null;
  readonly base_url: string | null;
  readonly key: "set" | "not-set";
  /** Last characters of a key, if it is long enough to show them safely. */
  readonly key_ends_with: string | null;
  readonly effort: string | null;
  readonly fallback: string | null;
}

const ADDRESSES: Readonly<Partial<Record<ModelProvider, string>>> = {
  anthropic: "https://api.anthropic.com/v1",
  openai: "https://api.openai.com/v1",
};
const OWN_KEYS: Readonly<Partial<Record<ModelProvider, string>>> = {
  anthropic: "ANTHROPIC_API_KEY",
  openai: "OPENAI_API_KEY",
};
/** Every variable that the built-in runtime reads from its agent's env file. */
export const RUNTIME_VARIABLES: readonly string[] = [
  "FLEETCTL_PROVIDER",
  "FLEETCTL_MODEL",
  "FLEETCTL_BASE_URL",
  "FLEETCTL_MODEL_KEY",
  "FLEETCTL_CONTEXT_TOKENS",
  "FLEETCTL_OUTPUT_TOKENS",
  "FLEETCTL_MODEL_INPUT",
  "FLEETCTL_EFFORT",
  "FLEETCTL_FALLBACK_MODEL",
  "FLEETCTL_STEPS",
  "FLEETCTL_PROJECT",
  "FLEETCTL_WORKSPACE",
  "FLEETCTL_ASK",
  "FLEETCTL_PERSONA",
  "FLEETCTL_SANDBOX",
  "FLEETCTL_SANDBOX_NETWORK",
  ...Object.values(OWN_KEYS),
];
/** Marks "no key" in the agent's shard when the shared shard has a key for all agents. */
const NO_KEY = "none";
/** The last four characters of a shorter key are not shown: they would reveal too much of it. */
const SHOWN_END_KEY_LENGTH_MIN = 20;
const key = (name: string) => name as KeyName;

/** Returns the model of an agent, resolved in the same way as by its runtime. */
export function storedModel(
  shards: SecretShards,
  agent: {
    readonly name: AgentName;
    readonly provider?: string | undefined;
    readonly model?: string | undefined;
  },
): StoredModel {
  const value = (name: string) => resolveKey(shards, agent.name, key(name))?.value;
  const model = value("FLEETCTL_MODEL") ?? agent.model;
  const baseUrl = value("FLEETCTL_BASE_URL");
  const named = value("FLEETCTL_PROVIDER") ?? agent.provider;
  const provider = MODEL_PROVIDERS.find((one) => one === named) ??
    impliedProvider({ model, baseUrl, has: (name) => value(name) !== undefined });
  if (provider === "demo") {
    return { provider, model: undefined, baseUrl: undefined, key: undefined };
  }
  const modelKey = value("FLEETCTL_MODEL_KEY");
  const own = OWN_KEYS[provider];
  const given = modelKey ?? (own === undefined ? undefined : value(own));
  return {
    provider,
    model,
    baseUrl: baseUrl ?? ADDRESSES[provider],
    key: given === NO_KEY ? undefined : given,
    effort: value("FLEETCTL_EFFORT"),
    fallback: value("FLEETCTL_FALLBACK_MODEL"),
  };
}

/** Returns the provider that the other values imply (docs/runtime.md). */
function impliedProvider(of: {
  readonly model: string | undefined;
  readonly baseUrl: string | undefined;
  readonly has: (name: string) => boolean;
}): ModelProvider {
  if (of.baseUrl !== undefined) return "openai-compatible";
  const hasAnthropic = of.has("ANTHROPIC_API_KEY");
  const hasOpenai = of.has("OPENAI_API_KEY");
  if (of.model === undefined || hasAnthropic === hasOpenai) return "demo";
  return hasAnthropic ? "anthropic" : "openai";
}

/** Validates a choice against the stored model; the refusal has one line per faulty field. */
export function decideModel(
  choice: ModelChoice,
  at: { readonly shards: SecretShards; readonly agent: AgentName; readonly stored: StoredModel },
): Result<DecidedModel> {
  const { provider } = choice;
  if (provider === "demo") return ok(demoModel());
  const faults: string[] = [];
  const model = choice.model?.trim() ?? "";
  if (model === "") faults.push("model: is empty, must be a model id of the provider");
  else if (!isModelId(model)) faults.push(`model: ${MODEL_ID}`);
  const { effort, fallback } = choice;
  if (fallback !== undefined && !isModelId(fallback)) faults.push(`fallback: ${MODEL_ID}`);
  if (fallback === model) faults.push("fallback: is the model itself, must be another one");
  const baseUrl = addressOf(choice, faults);
  const given = choice.key?.trim() ?? "";
  if (given.length > MODEL_CHOICE_LIMITS.keyMax || /[^\x21-\x7e]/.test(given)) {
    faults.push("key: must be one word of printable characters");
  }
  const isSame = at.stored.provider === provider && at.stored.baseUrl === baseUrl;
  const settled = given !== "" ? given : isSame ? at.stored.key : undefined;
  if (settled === undefined && provider !== "openai-compatible") {
    const at = isVendorAddress(provider, baseUrl ?? null) ? "" : ` at ${baseUrl ?? "its address"}`;
    faults.push(`key: is empty, must be a key of ${provider}${at}`);
  }
  if (faults.length > 0 || baseUrl === undefined) return err(badChoice(faults));
  return ok({
    provider,
    model,
    baseUrl,
    key: settled,
    effort,
    fallback,
    secrets: new Map([
      [key("FLEETCTL_EFFORT"), effort],
      [key("FLEETCTL_FALLBACK_MODEL"), fallback],
      [key("FLEETCTL_PROVIDER"), provider],
      [key("FLEETCTL_MODEL"), model],
      [key("FLEETCTL_BASE_URL"), baseUrl],
      // An unchanged key stays in its shard, so that the agent still uses a rotated key of the
      // host.
      ...(given === "" && isSame ? [] : keySecrets(provider, settled, at.shards)),
    ]),
  });
}

const MODEL_ID = "must be one word of at most 200 printable characters";

function isModelId(text: string): boolean {
  return text !== "" && text.length <= MODEL_CHOICE_LIMITS.modelMax && !/[^\x21-\x7e]/.test(text);
}

/**
 * Returns the secrets of a key. If the shared shard has a `FLEETCTL_MODEL_KEY`, the agent's own
 * entry overrides it.
 */
function keySecrets(
  provider: ModelProvider,
  value: string | undefined,
  shards: SecretShards,
): readonly (readonly [KeyName, string | undefined])[] {
  const own = OWN_KEYS[provider];
  const isCovered = shards.shared.has(key("FLEETCTL_MODEL_KEY"));
  if (own === undefined) {
    return [[key("FLEETCTL_MODEL_KEY"), value ?? (isCovered ? NO_KEY : undefined)]];
  }
  return [[key("FLEETCTL_MODEL_KEY"), isCovered ? value : undefined], [key(own), value]];
}

/** Resets to the demo model. The providers' keys stay, because MCPs may use them. */
function demoModel(): DecidedModel {
  return {
    provider: "demo",
    model: undefined,
    baseUrl: undefined,
    key: undefined,
    secrets: new Map([
      [key("FLEETCTL_PROVIDER"), "demo"],
      [key("FLEETCTL_MODEL"), undefined],
      [key("FLEETCTL_BASE_URL"), undefined],
      [key("FLEETCTL_MODEL_KEY"), undefined],
      [key("FLEETCTL_EFFORT"), undefined],
      [key("FLEETCTL_FALLBACK_MODEL"), undefined],
    ]),
  };
}

/** Tells whether an address is the provider's own. */
export function isVendorAddress(provider: ModelProvider, address: string | null): boolean {
  return address !== null && ADDRESSES[provider] === address;
}

function addressOf(choice: ModelChoice, faults: string[]): string | undefined {
  const given = choice.baseUrl?.trim() ?? "";
  const own = ADDRESSES[choice.provider];
  if (own !== undefined && given === "") return own;
  const fault = (wanted: string) => {
    faults.push(`base_url: ${wanted}`);
    return undefined;
  };
  if (given === "") return fault("is empty, must be the address of the endpoint");
  if (given.length > MODEL_CHOICE_LIMITS.baseUrlMax || !URL.canParse(given)) {
    return fault("is not a URL, must be like https://models.example/v1");
  }
  const url = new URL(given);
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return fault("must begin with https:// or http://");
  }
  // The key is always sent to this address, so a network connection must be encrypted.
  if (own !== undefined && url.protocol === "http:" && !isLoopbackName(url.hostname)) {
    return fault("must begin with https:// (http:// only to loopback)");
  }
  if (url.username !== "" || url.password !== "") {
    return fault("must not contain a user name or password");
  }
  if (url.search !== "" || url.hash !== "") return fault("must not contain ? or #");
  return url.href.replace(/\/+$/, "");
}

function badChoice(faults: readonly string[]) {
  return refusal("model-choice-invalid", "Cannot connect the model: the settings are invalid", {
    kind: "usage",
    details: faults,
  });
}

/** Returns the public view of a model. */
export function modelCard(model: StoredModel): ModelCard {
  const { provider, key: secret } = model;
  const isEndShown = secret !== undefined && secret.length >= SHOWN_END_KEY_LENGTH_MIN;
  return {
    provider,
    model: model.model ?? null,
    base_url: model.baseUrl ?? null,
    key: secret === undefined ? "not-set" : "set",
    key_ends_with: isEndShown ? secret.slice(-4) : null,
    effort: model.effort ?? null,
    fallback: model.fallback ?? null,
  };
}

/** Names a model in a message: `claude-x at anthropic`. */
export function modelText(model: Pick<ModelCard, "provider" | "model" | "base_url">): string {
  if (model.provider === "demo") return "the built-in demo model";
  const at = isVendorAddress(model.provider, model.base_url) ? model.provider : model.base_url;
  return `${model.model} at ${at}`;
}
