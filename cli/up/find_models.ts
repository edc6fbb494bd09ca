/**
 * Finds the models that this machine offers: keys in the environment, and local model servers on
 * their usual loopback ports. Finding does not use them: no key is stored or sent, and a server is
 * queried only for its list of models.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";
import type { HttpClient } from "core/ports/http_client.ts";
import { askEndpoint, listRequest, modelNames } from "cli/agents/model_check.ts";
import type { ModelProvider } from "core/runtimes/model_choice.ts";

/** A model source that was found. */
export interface FoundModel {
  /** The value of `--model-from` that selects it. */
  readonly source: string;
  /** Its description in a sentence: `ANTHROPIC_API_KEY in the environment`. */
  readonly description: string;
  readonly provider: ModelProvider;
  readonly baseUrl?: string;
  readonly key?: string;
  /**
   * Models that a server listed. Undefined for a provider, which is not queried without consent.
   */
  readonly models?: readonly string[];
}

/** Ports of Ollama, LM Studio, llama.cpp and vLLM, in the order of the result. */
const LOCAL_PORTS = [11434, 1234, 8080, 8000] as const;
/** Time limit. A local server answers at once, or is too busy to wait for. */
const LOCAL_MS_MAX = 500;
const KEYS = [["anthropic", "ANTHROPIC_API_KEY"], ["openai", "OPENAI_API_KEY"]] as const;

type Ports = { readonly http: HttpClient; readonly clock: Pick<Clock, "after"> };

/** Finds all sources. */
export async function findModels(
  ports: Ports,
  env: Readonly<Record<string, string>>,
  localPorts: readonly number[] = LOCAL_PORTS,
): Promise<readonly FoundModel[]> {
  const keys = KEYS.map(([provider]) => keyOf(provider, env)).filter((one) => one !== undefined);
  const servers = await Promise.all(
    localPorts.map((port) => serverAt(ports, `http://127.0.0.1:${port}/v1`, LOCAL_MS_MAX)),
  );
  return [...keys, ...servers.filter((one) => one !== undefined)];
}

/** Returns the source of this name; undefined when it is not found. */
export async function findModel(
  ports: Ports,
  env: Readonly<Record<string, string>>,
  source: string,
): Promise<FoundModel | undefined> {
  const provider = KEYS.find(([name]) => name === source)?.[0];
  if (provider !== undefined) return keyOf(provider, env);
  return await serverAt(ports, source.replace(/\/+$/, ""));
}

function keyOf(
  provider: typeof KEYS[number][0],
  env: Readonly<Record<string, string>>,
): FoundModel | undefined {
  const name = KEYS.find(([one]) => one === provider)?.[1] ?? "";
  const key = env[name]?.trim() ?? "";
  if (key === "") return undefined;
  return { source: provider, description: `${name} in the environment`, provider, key };
}

async function serverAt(
  ports: Ports,
  baseUrl: string,
  msMax?: number,
): Promise<FoundModel | undefined> {
  const provider = "openai-compatible";
  const request = listRequest({ provider, model: undefined, baseUrl, key: undefined });
  const answer = await askEndpoint(ports, request, msMax);
  const models = answer?.status === 200 ? modelNames(answer.body) : undefined;
  if (models === undefined || models.length === 0) return undefined;
  return {
    source: baseUrl,
    description: `a model server at ${baseUrl}`,
    provider,
    baseUrl,
    models,
  };
}

/**
 * Returns the model to start with: the first that the server listed, or the provider's newest chat
 * model; undefined when there is none or the endpoint refuses.
 */
export async function firstModel(ports: Ports, found: FoundModel): Promise<string | undefined> {
  if (found.models !== undefined) return found.models[0];
  const address = ADDRESSES[found.provider] ?? "";
  const request = listRequest({ ...found, model: "", baseUrl: address, key: found.key });
  const answer = await askEndpoint(ports, { ...request, url: `${address}/models` });
  return answer?.status === 200 ? newestModel(found.provider, answer.body) : undefined;
}

const ADDRESSES: Readonly<Partial<Record<ModelProvider, string>>> = {
  anthropic: "https://api.anthropic.com/v1",
  openai: "https://api.openai.com/v1",
};
/**
 * Names of plain `gpt-<version>` models and their `-mini`. Everything else is skipped, also some
 * chat models.
 */
const CHAT_MODEL = /^gpt-[0-9.]+(?:-mini)?$/;

/**
 * Returns the newest chat model. Anthropic lists the newest first. OpenAI lists all kinds
 * unordered, with their creation time.
 */
export function newestModel(provider: ModelProvider, body: string): string | undefined {
  if (provider !== "openai") return modelNames(body)?.[0];
  const chat = new Set(modelNames(body)?.filter((name) => CHAT_MODEL.test(name)));
  const { data } = JSON.parse(body) as { data: readonly { id?: string; created?: number }[] };
  return data
    .filter(({ id }) => id !== undefined && chat.has(id))
    .sort((one, other) => (other.created ?? 0) - (one.created ?? 0))[0]?.id;
}
