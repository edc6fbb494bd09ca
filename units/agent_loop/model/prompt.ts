/**
 * Converts stored messages to those of the `ai` library. Pure.
 *
 * @module
 */

import type { AssistantModelMessage, FilePart, ModelMessage, ToolModelMessage } from "ai";
import { defined } from "core/defined.ts";
import type { AssistantPart, Message } from "units/agent_loop/conversation/message.ts";
import type { MediaRef } from "units/agent_loop/media/media.ts";
import type { LoadedModel } from "units/agent_loop/model/provider.ts";

type AiOptions = NonNullable<AssistantModelMessage["providerOptions"]>;
type AssistantContent = Exclude<AssistantModelMessage["content"], string>;
type ToolContent = ToolModelMessage["content"];
type ResultMessage = Extract<Message, { role: "tool" }>;
/** The media of the messages by digest, in base64. */
type MediaBytes = ReadonlyMap<string, string>;

/** Converts a history; the last message carries the provider's cache mark, if there is one. */
export function toModelMessages(
  messages: readonly Message[],
  bytes: MediaBytes,
  { cacheMark, resultMedia }: Pick<LoadedModel, "cacheMark" | "resultMedia">,
): ModelMessage[] {
  const converted: ModelMessage[] = [];
  let results: ResultMessage[] = [];
  const addResults = () => {
    if (results.length === 0) return;
    converted.push(...convertResults(results, bytes, resultMedia));
    results = [];
  };
  for (const message of messages) {
    if (message.role === "tool") {
      results.push(message);
      continue;
    }
    addResults();
    converted.push(
      message.role === "user"
        ? { role: "user", content: userContent(message.text, toFileParts(message.media, bytes)) }
        : { role: "assistant", content: message.parts.map(toContentPart) },
    );
  }
  addResults();
  const last = converted.at(-1);
  if (last !== undefined && cacheMark !== undefined) last.providerOptions = cacheMark as AiOptions;
  return converted;
}

/** The results of one answer form one message: providers match them with its calls. */
function convertResults(
  results: readonly ResultMessage[],
  bytes: MediaBytes,
  place: LoadedModel["resultMedia"],
): ModelMessage[] {
  if (place === "with-result") {
    const content = results.map((each) => toResultPart(each, toFileParts(each.media, bytes)));
    return [{ role: "tool", content }];
  }
  const content = results.map((each) => toResultPart(each, []));
  const after = results.flatMap((each) => {
    const parts = toFileParts(each.media, bytes);
    if (parts.length === 0) return [];
    const text = `[from the result of ${each.tool}, call ${each.callId}:]`;
    return [{ type: "text" as const, text }, ...parts];
  });
  const tool: ModelMessage = { role: "tool", content };
  return after.length === 0 ? [tool] : [tool, { role: "user", content: after }];
}

function userContent(text: string, files: readonly FilePart[]) {
  return files.length === 0 ? text : [...files, { type: "text" as const, text }];
}

function toFileParts(media: readonly MediaRef[] = [], bytes: MediaBytes): FilePart[] {
  return media.flatMap((ref): FilePart[] => {
    const data = bytes.get(ref.sha256);
    if (data === undefined) return [];
    const filename = ref.kind === "pdf" ? ref.name : undefined;
    return [{
      type: "file",
      data: { type: "data", data },
      mediaType: ref.media_type,
      ...defined({ filename }),
    }];
  });
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

function toResultPart(message: ResultMessage, files: readonly FilePart[]): ToolContent[number] {
  const isGood = message.status === "completed";
  const output = message.text === "" ? "(no output)" : message.text;
  // Several protocols have no field for a failure, so the text states it.
  const text = isGood ? output : `[${message.status}] ${output}`;
  const call = {
    type: "tool-result" as const,
    toolCallId: message.callId,
    toolName: message.tool,
  };
  if (files.length === 0) {
    return { ...call, output: { type: isGood ? "text" : "error-text", value: text } };
  }
  const value = [{ type: "text" as const, text }, ...files.map(toResultFile)];
  return { ...call, output: { type: "content", value } };
}

function toResultFile({ data, mediaType, filename }: FilePart) {
  return {
    type: "file" as const,
    data: data as { type: "data"; data: string },
    mediaType,
    ...defined({ filename }),
  };
}
