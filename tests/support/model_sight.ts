/**
 * What a model saw in one request, in any of the protocols: the declared tools, and the results of
 * its tool calls.
 *
 * @module
 */

import { readImage } from "core/images/image.ts";
import type { ModelRequest } from "tests/fakes/model_endpoint.ts";

/** The result of a tool call as the model reads it. */
export interface SeenResult {
  readonly text: string;
  /** Undefined where the protocol does not carry it. */
  readonly isError: boolean | undefined;
}

/** One request as the model sees it. */
export interface ModelSight {
  /** Names of the declared tools. */
  readonly tools: readonly string[];
  /** All texts of the user, in order. */
  readonly userTexts: readonly string[];
  /** Results of tool calls, in order. */
  readonly results: readonly SeenResult[];
}

/** Returns type and size of each image in a request, such as "image/png 30×20". */
export function imagesSeen(of: ModelRequest): readonly string[] {
  const found: string[] = [];
  const take = (base64: string) => {
    const read = readImage(Uint8Array.fromBase64(base64));
    found.push(read.ok ? `${read.value.type} ${read.value.width}×${read.value.height}` : "broken");
  };
  const walk = (value: Json) => {
    if (typeof value === "string") {
      const url = /^data:image\/[a-z]+;base64,(.+)$/s.exec(value);
      if (url?.[1] !== undefined) take(url[1]);
    } else if (value?.type === "base64" && typeof value.data === "string") take(value.data);
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(walk);
  };
  walk(of.body);
  return found;
}

// deno-lint-ignore no-explicit-any -- a test inspects the JSON of model protocols.
type Json = any;

/** Reads a request of Anthropic messages, OpenAI responses or OpenAI chat. */
export function sightOf({ path, body }: ModelRequest): ModelSight {
  const [place = ""] = path.split("?");
  if (place.endsWith("/messages")) return messagesSight(body);
  return place.endsWith("/responses") ? responsesSight(body) : chatSight(body);
}

function messagesSight(body: Json): ModelSight {
  const blocks: readonly Json[] = (body.messages ?? [])
    .filter((message: Json) => message.role === "user")
    .flatMap((message: Json) => blocksOf(message.content));
  return {
    tools: (body.tools ?? []).map((tool: Json) => tool.name),
    userTexts: blocks.filter((block) => block.type === "text").map((block) => block.text),
    results: blocks.filter((block) => block.type === "tool_result").map((block) => ({
      text: textOf(block.content),
      isError: block.is_error === true,
    })),
  };
}

/** OpenAI chat does not mark a result as an error. */
function chatSight(body: Json): ModelSight {
  const messages: readonly Json[] = body.messages ?? [];
  return {
    tools: (body.tools ?? []).map((tool: Json) => tool.function.name),
    userTexts: messages.filter((message) => message.role === "user")
      .flatMap((message) => blocksOf(message.content))
      .filter((block) => block.type === "text").map((block) => block.text),
    results: messages.filter((message) => message.role === "tool").map((message) => ({
      text: textOf(message.content),
      isError: undefined,
    })),
  };
}

/**
 * A tool in a namespace is named with the namespace. OpenAI responses do not mark a result as an
 * error.
 */
function responsesSight(body: Json): ModelSight {
  const items: readonly Json[] = body.input ?? [];
  return {
    tools: (body.tools ?? []).flatMap((tool: Json) =>
      tool.type === "namespace"
        ? tool.tools.map((each: Json) => `${tool.name}__${each.name}`)
        : [tool.name ?? tool.type]
    ),
    userTexts: items.filter(({ type, role }) => type === "message" && role === "user")
      .flatMap(({ content }) => blocksOf(content))
      .filter(({ type }) => type === "input_text").map(({ text }) => text),
    results: items.filter(({ type }) => type === "function_call_output").map(({ output }) => ({
      text: textOf(output),
      isError: undefined,
    })),
  };
}

function textOf(content: Json): string {
  return blocksOf(content).map((part) => part.text ?? `[${part.type}]`).join("\n");
}

function blocksOf(content: Json): readonly Json[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content ?? [];
}
