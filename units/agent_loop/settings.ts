/**
 * Settings of the built-in runtime, from the environment. They come from the agent's record
 * (`provider`, `model`) and its env file (keys). No I/O.
 *
 * Without a provider, a base URL or a key, the demo model answers. The provider may be omitted when
 * the other settings determine it: a base URL means `openai-compatible`, a single key means its
 * provider.
 *
 * @module
 */

import type { MediaKind } from "units/agent_loop/media/media.ts";
import { ASK_MODES, type AskMode } from "core/ledger/agent.ts";
import { SANDBOX_NETWORKS, type SandboxNetwork } from "core/sandbox/command_sandbox.ts";
import {
  defaulted,
  type Env,
  optional,
  readSettings,
  type SettingValues,
} from "core/settings/settings.ts";
import { integer, lines, oneOf, text, url } from "core/settings/setting_types.ts";
import { RUNTIME_LIMITS } from "units/agent_loop/limits.ts";
import type { Result } from "core/result.ts";
import {
  MODEL_EFFORTS,
  MODEL_PROVIDERS,
  type ModelEffort,
  type ModelProvider,
} from "core/runtimes/model_choice.ts";

/** What a model can accept. */
const MODEL_INPUTS = ["text", "images", "pdfs"] as const;
type ModelInput = typeof MODEL_INPUTS[number];

const ACCEPTS: Readonly<Record<ModelInput, readonly MediaKind[]>> = {
  text: [],
  images: ["image"],
  pdfs: ["image", "pdf"],
};

/** A model that accepts less refuses the first one, and the runtime sends a text instead. */
const INPUT: Readonly<Record<ModelProvider, ModelInput>> = {
  anthropic: "pdfs",
  openai: "pdfs",
  "openai-compatible": "images",
  demo: "text",
};

/** The settings by name; `fleetctl-runtime --help` prints them. */
export const RUNTIME_SETTINGS = {
  provider: optional("FLEETCTL_PROVIDER", oneOf(MODEL_PROVIDERS), {
    doc: "Model provider; the built-in demo model answers when none is configured.",
  }),
  model: optional("FLEETCTL_MODEL", text(), {
    doc: "Model id as the provider names it.",
  }),
  baseUrl: optional("FLEETCTL_BASE_URL", url({ schemes: ["https", "http"] }), {
    doc: "Base URL of the endpoint, usually ending in /v1; the provider's own when not set.",
  }),
  anthropicKey: optional("ANTHROPIC_API_KEY", text(), {
    doc: "Key for the provider anthropic.",
    isSecret: true,
  }),
  openaiKey: optional("OPENAI_API_KEY", text(), {
    doc: "Key for the provider openai.",
    isSecret: true,
  }),
  modelKey: optional("FLEETCTL_MODEL_KEY", text(), {
    doc: "Key for openai-compatible endpoints; for the others it wins over the provider's key.",
    isSecret: true,
  }),
  contextTokens: optional("FLEETCTL_CONTEXT_TOKENS", integer(4_000, 10_000_000), {
    doc: "Size of the model's window in tokens, if not the default.",
  }),
  outputTokens: optional("FLEETCTL_OUTPUT_TOKENS", integer(256, 1_000_000), {
    doc: "Maximum length of an answer, in tokens.",
  }),
  input: optional("FLEETCTL_MODEL_INPUT", oneOf(MODEL_INPUTS), {
    doc: "What the model accepts besides text, if not the default of the provider.",
  }),
  effort: optional("FLEETCTL_EFFORT", oneOf(MODEL_EFFORTS), {
    doc: "How much the model thinks before it answers; the provider's default when not set.",
  }),
  fallback: optional("FLEETCTL_FALLBACK_MODEL", text(), {
    doc: "Model id of the same provider that answers when the model is overloaded.",
  }),
  steps: optional("FLEETCTL_STEPS", integer(1, 1_000), {
    doc: "Model calls after which a turn stops; 64 when not set.",
  }),
  workspace: optional("FLEETCTL_WORKSPACE", text(), {
    doc: "Folder that the agent works in; its home when not set.",
  }),
  project: optional("FLEETCTL_PROJECT", text(), {
    doc: 'Folder that "this project" means; the workspace when not set.',
  }),
  ask: optional("FLEETCTL_ASK", oneOf(ASK_MODES), {
    doc: "Which built-in tools ask a person first; none when not set.",
  }),
  persona: optional("FLEETCTL_PERSONA", lines(), {
    doc: "Role and manner of the agent, a part of the system prompt; none when not set.",
  }),
  sandbox: optional("FLEETCTL_SANDBOX", text(), {
    doc: "The folder that commands may write in their sandbox; no sandbox when not set.",
  }),
  sandboxNetwork: defaulted("FLEETCTL_SANDBOX_NETWORK", oneOf(SANDBOX_NETWORKS), {
    fallback: "none",
    doc: "The network of commands in their sandbox.",
  }),
};

type Values = SettingValues<typeof RUNTIME_SETTINGS>;

/** The model in use, and how to reach it. */
export interface ModelSettings {
  readonly provider: ModelProvider;
  /** Empty for the demo model. */
  readonly model: string;
  readonly baseUrl: string | undefined;
  readonly key: string | undefined;
  /** Name of the variable for the key, for hints. */
  readonly keyName: string;
  readonly contextTokens: number;
  readonly outputTokens: number | undefined;
  /** How much the model thinks; the provider's default when undefined. */
  readonly effort: ModelEffort | undefined;
  /** Id of the model that answers when this one is overloaded. */
  readonly fallback: string | undefined;
  /** Media that the model accepts, as far as it is known. */
  readonly accepts: readonly MediaKind[];
}

/** Settings of one runtime process. */
export interface RuntimeSettings {
  readonly model: ModelSettings;
  readonly workspace: string | undefined;
  readonly project: string | undefined;
  readonly ask: AskMode | undefined;
  readonly persona: string | undefined;
  /** Model calls after which a turn stops. */
  readonly stepsMax: number;
  /** What commands may write and reach in their sandbox; undefined without one. */
  readonly sandbox: { readonly folder: string; readonly network: SandboxNetwork } | undefined;
}

/** Windows by provider: all current models of the provider have at least this one. */
const CONTEXT_TOKENS: Readonly<Record<ModelProvider, number>> = {
  anthropic: 200_000,
  openai: 128_000,
  "openai-compatible": RUNTIME_LIMITS.contextTokensDefault,
  demo: RUNTIME_LIMITS.contextTokensDefault,
};

const KEY_NAMES: Readonly<Record<ModelProvider, string>> = {
  anthropic: "ANTHROPIC_API_KEY",
  openai: "OPENAI_API_KEY",
  "openai-compatible": "FLEETCTL_MODEL_KEY",
  demo: "FLEETCTL_MODEL_KEY",
};

/** Reads the settings; the refusal lists every fault. */
export function readRuntimeSettings(env: Env): Result<RuntimeSettings> {
  const read = readSettings(RUNTIME_SETTINGS, env, [checkProvider]);
  if (!read.ok) return read;
  const values = read.value;
  const provider = providerOf(values);
  return {
    ok: true,
    value: {
      workspace: values.workspace,
      project: values.project,
      ask: values.ask,
      persona: values.persona,
      stepsMax: values.steps ?? RUNTIME_LIMITS.stepsDefault,
      sandbox: values.sandbox === undefined
        ? undefined
        : { folder: values.sandbox, network: values.sandboxNetwork },
      model: {
        provider,
        model: values.model ?? "",
        baseUrl: values.baseUrl?.href.replace(/\/+$/, ""),
        key: keyOf(provider, values),
        keyName: KEY_NAMES[provider],
        contextTokens: values.contextTokens ?? CONTEXT_TOKENS[provider],
        outputTokens: values.outputTokens,
        effort: values.effort,
        fallback: values.fallback === values.model ? undefined : values.fallback,
        accepts: ACCEPTS[values.input ?? INPUT[provider]],
      },
    },
  };
}

function providerOf(values: Values): ModelProvider {
  if (values.provider !== undefined) return values.provider;
  if (values.baseUrl !== undefined) return "openai-compatible";
  const hasAnthropic = values.anthropicKey !== undefined;
  const hasOpenai = values.openaiKey !== undefined;
  if (values.model === undefined || hasAnthropic === hasOpenai) return "demo";
  return hasAnthropic ? "anthropic" : "openai";
}

function keyOf(provider: ModelProvider, values: Values): string | undefined {
  if (values.modelKey !== undefined) return values.modelKey;
  if (provider === "anthropic") return values.anthropicKey;
  return provider === "openai" ? values.openaiKey : undefined;
}

/** Returns faults of combinations of settings that are each valid alone. */
function checkProvider(values: Values): readonly string[] {
  const provider = providerOf(values);
  if (provider === "demo") return [];
  const faults: string[] = [];
  if (values.model === undefined) {
    faults.push(`FLEETCTL_MODEL: not set, must be a model id of provider "${provider}"`);
  }
  if (provider === "openai-compatible" && values.baseUrl === undefined) {
    faults.push(`FLEETCTL_BASE_URL: not set, must be set for provider "${provider}"`);
  }
  if (provider !== "openai-compatible" && keyOf(provider, values) === undefined) {
    faults.push(`${KEY_NAMES[provider]}: not set, must be set for provider "${provider}"`);
  }
  return faults;
}
