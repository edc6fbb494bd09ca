/**
 * Converts stored messages to those of the `ai` library. Pure.
 *
 * @module
 */

import type { AssistantModelMessage, ModelMessage, ToolModelMessage } from "ai";
import type { AssistantPart, Message } from "units/agent_loop/conversation/message.ts";
import type { ProviderOptions } from "units/agent_loop/model/provider.ts";

type AiOptions = NonNullable<AssistantModelMessage["providerOptions"]>;
type AssistantContent = Exclude<AssistantModelMessage["content"], string>;
type ToolContent = ToolModelMessage["content"];

/** Converts a history; the last message carries the provider's cache mark, if there is one. */
export function toModelMessages(
  messages: readonly Message[],
  cacheMark: ProviderOptions | undefined,
): ModelMessage[] {
  const converted: ModelMessage[] = [];
  let results: ToolContent | undefined;
  for (const message of messages) {
    if (message.role === "tool") {
      // The results of one answer form one message: providers match them with its calls.
      if (results === undefined) converted.push({ role: "tool", content: results = [] });
      results.push(toResultPart(message));
      continue;
    }
    results = undefined;
    converted.push(
      message.role === "user"
        ? { role: "user", content: message.text }
        : { role: "assistant", content: message.parts.map(toContentPart) },
    );
  }
  const last = converted.at(-1);
  if (last !== undefined && cacheMark !== undefined) last.providerOptions = cacheMark as AiOptions;
  return converted;
}

function toContentPart(part: AssistantPart): AssistantContent[number] {
  const options = part.provider_options === undefined
    ? {}
    : { providerOptions: part.provider_options as AiOptions };
  if (part.type === "call") {
    return {
      type: "tool-call",
      toolCallId: part.call_id,
      toolName: part.tool,
      input: part.arguments,
      ...options,
    };
  }
  return { type: part.type, text: part.text, ...options };
}

function toResultPart(message: Extract<Message, { role: "tool" }>): ToolContent[number] {
  const isGood = message.status === "completed";
  const output = message.text === "" ? "(no output)" : message.text;
  // Several protocols have no field for a failure, so the text states it.
  const text = isGood ? output : `[${message.status}] ${output}`;
  return {
    type: "tool-result",
    toolCallId: message.callId,
    toolName: message.tool,
    output: { type: isGood ? "text" : "error-text", value: text },
  };
}
