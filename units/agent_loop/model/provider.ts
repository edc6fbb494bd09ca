/**
 * Loads the model that the settings name. Only the package of that provider is loaded, and only
 * when the first turn needs it, so an idle agent loads none of them. Requests go through the
 * `HttpClient`.
 *
 * @module
 */

import type { LanguageModel } from "ai";
import { defined } from "core/defined.ts";
import { boundAnswer } from "core/net/bounded_answer.ts";
import type { HttpClient } from "core/ports/http_client.ts";
import { NotAnEndpoint } from "units/agent_loop/model/fault.ts";
import type { ModelSettings } from "units/agent_loop/settings.ts";

/** Options that one provider requires with every call. */
export type ProviderOptions = Readonly<Record<string, Readonly<Record<string, JsonValue>>>>;

type JsonValue = string | number | boolean | null | readonly JsonValue[] | {
  readonly [key: string]: JsonValue;
};

/** A model ready to be called. */
export interface LoadedModel {
  readonly model: LanguageModel;
  readonly callOptions: ProviderOptions;
  /** Marks the end of a prompt's stable part, for providers that cache by marks. */
  readonly cacheMark: ProviderOptions | undefined;
  /** Where the images of a tool result are: with it, or in a message of the user after it. */
  readonly resultMedia: "with-result" | "after-results";
}

/** Address and key of the demo model, when it is in use. */
export interface Endpoint {
  readonly baseUrl: string;
  readonly key: string;
}

/** Far more than one answer needs; an event of a stream contains a few words. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

/** Loads the provider's package and returns the model. */
export async function loadModel(
  settings: ModelSettings,
  http: HttpClient,
  demo?: Endpoint,
): Promise<LoadedModel> {
  const transport = {
    fetch: async (input: string | URL | Request, init?: RequestInit) => {
      const response = await http.fetch(input, init);
      const isPage = response.headers.get("content-type")?.startsWith("text/html") === true;
      if (!response.ok || !isPage) return boundAnswer(response, ANSWER_BYTES_MAX);
      await response.body?.cancel();
      throw new NotAnEndpoint();
    },
    ...defined({ apiKey: settings.key, baseURL: settings.baseUrl }),
  };
  switch (settings.provider) {
    case "anthropic": {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return {
        model: createAnthropic(transport)(settings.model),
        callOptions: {},
        cacheMark: { anthropic: { cacheControl: { type: "ephemeral" } } },
        resultMedia: "with-result",
      };
    }
    case "openai": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return {
        model: createOpenAI(transport)(settings.model),
        // Conversations are stored here and resumed for months; none is stored at the provider. A
        // summary of the reasoning is refused to organizations that are not verified.
        callOptions: { openai: { store: false, reasoningSummary: null } },
        cacheMark: undefined,
        resultMedia: "with-result",
      };
    }
    case "openai-compatible":
    case "demo": {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const provider = createOpenAICompatible({
        ...transport,
        ...defined({ apiKey: demo?.key }),
        name: "compatible",
        baseURL: demo?.baseUrl ?? settings.baseUrl ?? "",
        includeUsage: true,
      });
      return {
        model: provider.chatModel(settings.provider === "demo" ? "demo" : settings.model),
        callOptions: {},
        cacheMark: undefined,
        // The chat protocol has text only in tool results.
        resultMedia: "after-results",
      };
    }
  }
}
