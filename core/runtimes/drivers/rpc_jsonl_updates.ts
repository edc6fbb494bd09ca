/**
 * What the events of a command-driven runtime amount to, in the words of ACP: text as it is
 * written, tool calls with arguments and results, notices for retries, shortening and extensions.
 * Pure.
 *
 * @module
 */

import {
  blocksOf,
  fieldsOf,
  type Message,
  notice,
  textChunk,
  textOf,
} from "core/runtimes/drivers/message.ts";

/** Returns the updates of one event; empty for what is not known. */
export function readRpcEvent(event: Message): readonly unknown[] {
  switch (event.type) {
    case "message_update":
      return readDelta(event);
    case "tool_execution_start":
      return [{
        sessionUpdate: "tool_call",
        toolCallId: event.toolCallId,
        name: textOf(event.toolName),
        status: "in_progress",
        rawInput: event.args ?? {},
      }];
    case "tool_execution_end":
      return [{
        sessionUpdate: "tool_call_update",
        toolCallId: event.toolCallId,
        name: textOf(event.toolName),
        status: event.isError === true ? "failed" : "completed",
        content: blocksOf(fieldsOf(event.result).content)
          .map((content) => ({ type: "content", content })),
      }];
    default:
      return readNotice(event);
  }
}

function readDelta(event: Message): readonly unknown[] {
  const delta = fieldsOf(event.assistantMessageEvent);
  if (delta.type !== "text_delta") return [];
  // The time a message began is the only thing that tells it from the one before.
  const began = String(fieldsOf(event.message).timestamp ?? "");
  return [textChunk(`${began}-${String(delta.contentIndex ?? 0)}`, textOf(delta.delta))];
}

function readNotice(event: Message): readonly unknown[] {
  switch (event.type) {
    case "auto_retry_start":
      return [notice("Trying again", textOf(event.errorMessage))];
    case "compaction_start":
      return [notice("The runtime shortens the conversation")];
    case "extension_error":
      return [notice("An extension of the runtime failed", textOf(event.error))];
    case "extension_ui_request":
      return event.method === "notify" ? [notice(textOf(event.message))] : [];
    default:
      return [];
  }
}
