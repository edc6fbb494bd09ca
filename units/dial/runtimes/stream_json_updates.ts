/**
 * Converts the messages of a streaming JSON runtime to ACP updates: streamed text, tool calls with
 * their arguments, results. A message that arrives both as deltas and as a whole counts once.
 * Messages of sub-agents are skipped: they belong to their parent's tool call. Pure.
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

/** Reads the messages of one process. */
export interface StreamReader {
  /** Returns the updates of one message; empty for an unknown one. */
  read(message: Message): readonly unknown[];
  /** Marks a call as denied; its result is reported as denied. */
  deny(callId: string): void;
  /**
   * Ends a turn. `result` repeats the last text. If the runtime answered without its model,
   * `result` is the only text and is returned as an update.
   */
  endTurn(result: string): readonly unknown[];
}

/** Model of a message that the runtime itself generated. */
const SYNTHETIC = "<synthetic>";

/** Creates a reader. */
export function createStreamReader(): StreamReader {
  /** Messages whose text arrived as deltas. */
  const streamed = new Set<string>();
  const denied = new Set<string>();
  let streaming = "";
  let hasText = false;

  function readEvent(event: Message): readonly unknown[] {
    if (event.type === "message_start") {
      streaming = textOf(fieldsOf(event.message).id);
      return [];
    }
    const delta = fieldsOf(event.delta);
    if (event.type !== "content_block_delta" || delta.type !== "text_delta") return [];
    streamed.add(streaming);
    hasText = true;
    return [textChunk(streaming, textOf(delta.text))];
  }

  function readAssistant(message: Message): readonly unknown[] {
    // The result reports the failure, together with the end of the turn.
    if (message.model === SYNTHETIC) return [];
    const id = textOf(message.id);
    hasText ||= blocksOf(message.content).some((block) => block.type === "text");
    return blocksOf(message.content).flatMap((block) => {
      if (block.type === "text" && !streamed.has(id)) return [textChunk(id, textOf(block.text))];
      return block.type === "tool_use" ? [callOf(block)] : [];
    });
  }

  return {
    read(message) {
      if (typeof message.parent_tool_use_id === "string") return [];
      switch (message.type) {
        case "stream_event":
          return readEvent(fieldsOf(message.event));
        case "assistant":
          return readAssistant(fieldsOf(message.message));
        case "user":
          return blocksOf(fieldsOf(message.message).content)
            .filter((block) => block.type === "tool_result")
            .map((block) => resultOf(block, denied.delete(textOf(block.tool_use_id))));
        case "system":
          return noticeOf(message);
        default:
          return [];
      }
    },
    deny: (callId) => void denied.add(callId),
    endTurn(result) {
      const updates = hasText || result === "" ? [] : [textChunk("result", result)];
      streamed.clear();
      denied.clear();
      hasText = false;
      return updates;
    },
  };
}

function callOf(block: Message): unknown {
  return {
    sessionUpdate: "tool_call",
    toolCallId: block.id,
    name: textOf(block.name),
    status: "in_progress",
    rawInput: block.input ?? {},
  };
}

function resultOf(block: Message, isDenied: boolean): unknown {
  return {
    sessionUpdate: "tool_call_update",
    toolCallId: block.tool_use_id,
    status: block.is_error === true ? "failed" : "completed",
    ...(isDenied ? { _meta: { fleetctl: { status: "denied" } } } : {}),
    ...(typeof block.content === "string"
      ? { rawOutput: block.content }
      : { content: blocksOf(block.content).map(contentOf) }),
  };
}

/** Converts a block of a result; an image has its data one level deeper than in ACP. */
function contentOf(block: Message): unknown {
  const { data } = fieldsOf(block.source);
  const content = block.type === "image" && data !== undefined ? { type: "image", data } : block;
  return { type: "content", content };
}

/** Returns a notice for events that slow down a turn or change what the model sees. */
function noticeOf(message: Message): readonly unknown[] {
  if (message.subtype === "compact_boundary") {
    return [notice("The runtime shortened the conversation")];
  }
  if (message.subtype !== "api_retry") return [];
  const why = textOf(message.error) || "the model endpoint failed";
  return [notice("Trying again", why)];
}
