/**
 * Which model an agent of the built-in runtime talks to: what is stored, what an owner wants
 * instead, and which secrets that changes. Pure; the names are those of docs/runtime.md.
 *
 * A choice is stored whole in the agent's own shard, address included, so that nothing of the
 * shared shard can mix with it. A key is bound to the endpoint that it was given for: it is kept
 * only while provider and address stay, so that whoever may choose an address never learns a key.
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

/** Model providers that the built-in runtime can talk to. */
export const MODEL_PROVIDERS = ["anthropic", "openai", "openai-compatible", "demo"] as const;
/** One of `MODEL_PROVIDERS`. */
export type ModelProvider = typeof MODEL_PROVIDERS[number];

/** Program of the built-in runtime, whatever a host calls its definition. */
const OWN_PROGRAM = "{lib}/fleetctl-runtime";

/**
 * Refuses a provider with which the built-in runtime would not start; others have their own words.
 */
export function checkProvider(
  { name, command }: Pick<RuntimeDefinition, "name" | "command">,
  provider: string | undefined,
): Result<void> {
  const isKnown = MODEL_PROVIDERS.some((one) => one === provider);
  if (provider === undefined || isKnown || command !== OWN_PROGRAM) return ok(undefined);
  return err(refusal(
    "provider-unknown",
    `Cannot use provider "${provider}" with runtime "${name}": it does not know it, must be ` +
      "one of " +
      MODEL_PROVIDERS.join(", "),
    { kind: "usage", hints: ["fleetctl agents model set --help"] },
  ));
}

/** Bounds of what is typed, in characters. */
export const MODEL_CHOICE_LIMITS = { modelMax: 200, baseUrlMax: 2_000, keyMax: 8_192 } as const;

/** What somebody wants an agent to talk to. */
export interface ModelChoice {
  readonly provider: ModelProvider;
  /** Model id in the provider's words; the demo model has none. */
  readonly model?: string | undefined;
  /** Needed for `openai-compatible`; else another place that speaks the provider's own API. */
  readonly baseUrl?: string | undefined;
  /** Absent keeps the stored key of the same endpoint. */
  readonly key?: string | undefined;
}

/** A model as it is stored for an agent; `key` never leaves the process that reads it. */
export interface StoredModel {
  readonly provider: ModelProvider;
  readonly model: string | undefined;
  readonly baseUrl: string | undefined;
  readonly key: string | undefined;
}

/** A choice that fits together, and the values it stores; undefined takes a key away. */
export interface DecidedModel extends StoredModel {
  readonly secrets: ReadonlyMap<KeyName, string | undefined>;
}

/** What may be told of a model: never its key. */
export interface ModelCard {
  readonly provider: ModelProvider;
  readonly model: string | null;
  readonly base_url: string | null;
  readonly key: "set" | "not-set";
  /** Last characters of a key that is long enough to lose them. */
  readonly key_ends_with: string | null;
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
  "FLEETCTL_PROJECT",
  "FLEETCTL_WORKSPACE",
  ...Object.values(OWN_KEYS),
];
/** Stands in the agent's shard for "no key", where the shared shard has one for all. */
const NO_KEY = "none";
/** A key shorter than this would lose too much with its last four characters. */
const TELLABLE_KEY_LENGTH = 20;
const key = (name: string) => name as KeyName;

/** Returns the model of an agent, as its runtime would settle it. */
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
  };
}

/** A provider may be left out when what is set leaves no doubt (docs/runtime.md). */
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

/** Settles a choice against what is stored; the refusal has one line for each faulty field. */
export function decideModel(
  choice: ModelChoice,
  at: { readonly shards: SecretShards; readonly agent: AgentName; readonly stored: StoredModel },
): Result<DecidedModel> {
  const { provider } = choice;
  if (provider === "demo") return ok(demoModel());
  const faults: string[] = [];
  const model = choice.model?.trim() ?? "";
  if (model === "") faults.push("model: is empty, must be a model id in the provider's words");
  else if (model.length > MODEL_CHOICE_LIMITS.modelMax || /[^\x21-\x7e]/.test(model)) {
    faults.push("model: must be one word of at most 200 printable characters");
  }
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
    secrets: new Map([
      [key("FLEETCTL_PROVIDER"), provider],
      [key("FLEETCTL_MODEL"), model],
      [key("FLEETCTL_BASE_URL"), baseUrl],
      // A key that is kept stays where it is, so that a rotated one of the host is still followed.
      ...(given === "" && isSame ? [] : keySecrets(provider, settled, at.shards)),
    ]),
  });
}

/**
 * The shared shard may hold `FLEETCTL_MODEL_KEY`, which would win: then the agent's own covers it.
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

/** Back to the demo model; keys of providers stay, because MCPs may use the same. */
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
    ]),
  };
}

/** Tells whether an address is that of the provider itself. */
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
    return fault("is no address, must be like https://models.example/v1");
  }
  const url = new URL(given);
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return fault("must begin with https:// or http://");
  }
  // A key always goes there: over a network it must be encrypted.
  if (own !== undefined && url.protocol === "http:" && !isLoopbackName(url.hostname)) {
    return fault("must begin with https:// (http:// only to loopback)");
  }
  if (url.username !== "" || url.password !== "") return fault("must hold no user or password");
  if (url.search !== "" || url.hash !== "") return fault("must have no ? and no #");
  return url.href.replace(/\/+$/, "");
}

function badChoice(faults: readonly string[]) {
  return refusal("model-choice-invalid", "Cannot connect the model: what is given does not fit", {
    kind: "usage",
    details: faults,
  });
}

/** Returns what may be told of a model. */
export function modelCard(model: StoredModel): ModelCard {
  const { provider, key: secret } = model;
  const isTellable = secret !== undefined && secret.length >= TELLABLE_KEY_LENGTH;
  return {
    provider,
    model: model.model ?? null,
    base_url: model.baseUrl ?? null,
    key: secret === undefined ? "not-set" : "set",
    key_ends_with: isTellable ? secret.slice(-4) : null,
  };
}

/** Names a model in a sentence: `claude-x at anthropic`. */
export function modelText(model: Pick<ModelCard, "provider" | "model" | "base_url">): string {
  if (model.provider === "demo") return "the built-in demo model";
  const at = isVendorAddress(model.provider, model.base_url) ? model.provider : model.base_url;
  return `${model.model} at ${at}`;
}
