/**
 * Converts the events of a command-driven runtime to ACP updates: streamed text; tool calls with
 * arguments and results; notices for retries, shortening and extensions. No I/O.
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
} from "units/dial/runtimes/message.ts";

/** Reads the events of one process. */
export interface RpcReader {
  /** Returns the updates of one event; empty for an unknown one. */
  read(event: Message): readonly unknown[];
  /** Marks a call as denied; its result is reported as denied. */
  deny(callId: string): void;
}

/** Creates a reader. */
export function createRpcReader(): RpcReader {
  const denied = new Set<string>();
  /** Number of messages of the model so far: its deltas do not identify their message. */
  let messages = 0;

  function readDelta(event: Message): readonly unknown[] {
    const delta = fieldsOf(event.assistantMessageEvent);
    if (delta.type !== "text_delta") return [];
    return [textChunk(`${messages}-${String(delta.contentIndex ?? 0)}`, textOf(delta.delta))];
  }

  return {
    deny: (callId) => void denied.add(callId),
    read(event) {
      switch (event.type) {
        case "message_start":
          messages++;
          return [];
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
            ...(denied.delete(textOf(event.toolCallId))
              ? { _meta: { fleetctl: { status: "denied" } } }
              : {}),
            content: blocksOf(fieldsOf(event.result).content)
              .map((content) => ({ type: "content", content })),
          }];
        default:
          return readNotice(event);
      }
    },
  };
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
