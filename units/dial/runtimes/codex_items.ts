/**
 * Converts the items of a codex thread to ACP updates: streamed text, tool calls with arguments and
 * results, and notices for retries and for shortening. Commands, file changes and MCP calls are
 * tool calls. Skips items of unknown kinds. No I/O.
 *
 * @module
 */

import { parseJsonObject } from "core/text/json_object.ts";
import {
  blocksOf,
  fieldsOf,
  type Message,
  notice,
  textChunk,
  textOf,
} from "units/dial/runtimes/message.ts";

/** The tool call that an item represents. */
export interface ItemCall {
  /** Undefined for a tool of the program itself. */
  readonly mcp: string | undefined;
  readonly tool: string;
  readonly arguments: Message;
}

/** Reads the notifications of one process, turn by turn. */
export interface ItemReader {
  /** Returns the updates of one notification; empty for an unknown one. */
  read(method: string, params: Message): readonly unknown[];
  /** Marks a call as denied; its result is reported as denied. */
  deny(callId: string): void;
  /** Drops the state of the ended turn. */
  endTurn(): void;
}

/** Creates a reader. */
export function createItemReader(): ItemReader {
  /** Messages whose text arrived as deltas. */
  const streamed = new Set<string>();
  const denied = new Set<string>();

  function readCompleted(item: Message): readonly unknown[] {
    const id = textOf(item.id);
    if (item.type === "contextCompaction") {
      return [notice("The runtime shortened the conversation")];
    }
    if (item.type === "agentMessage") {
      return streamed.has(id) || textOf(item.text) === "" ? [] : [textChunk(id, textOf(item.text))];
    }
    const call = callOfItem(item);
    if (call === undefined) return [];
    const isDenied = denied.delete(id) || item.status === "declined";
    return [{
      ...printCall(item, call),
      sessionUpdate: "tool_call_update",
      status: isDenied || item.status === "failed" ? "failed" : "completed",
      ...resultOf(item),
      _meta: {
        fleetctl: {
          ...nameOf(call),
          ...(isDenied ? { status: "denied" } : {}),
          ...(item.type === "imageView" ? { image_path: item.path } : {}),
        },
      },
    }];
  }

  return {
    deny: (callId) => void denied.add(callId),
    endTurn() {
      streamed.clear();
      denied.clear();
    },
    read(method, params) {
      const item = fieldsOf(params.item);
      switch (method) {
        case "item/agentMessage/delta":
          streamed.add(textOf(params.itemId));
          return [textChunk(textOf(params.itemId), textOf(params.delta))];
        case "item/started": {
          const call = callOfItem(item);
          return call === undefined ? [] : [printCall(item, call)];
        }
        case "item/completed":
          return readCompleted(item);
        case "error":
          return params.willRetry === true ? [notice("Trying again", errorOf(params.error))] : [];
        default:
          return [];
      }
    },
  };
}

/** Returns the call that an item represents; undefined for other items. */
export function callOfItem(item: Message): ItemCall | undefined {
  switch (item.type) {
    case "commandExecution":
      return ownCall("exec_command", pick(item, ["command", "cwd"]));
    case "fileChange":
      return ownCall("apply_patch", pick(item, ["changes"]));
    case "mcpToolCall":
      return {
        mcp: textOf(item.server),
        tool: textOf(item.tool),
        arguments: fieldsOf(item.arguments),
      };
    case "webSearch":
      return ownCall("web_search", pick(item, ["query"]));
    case "imageView":
      return ownCall("view_image", pick(item, ["path"]));
    case "collabAgentToolCall":
      return ownCall(textOf(item.tool) || "agent", pick(item, ["prompt", "receiverThreadIds"]));
    default:
      return undefined;
  }
}

function ownCall(tool: string, given: Message): ItemCall {
  return { mcp: undefined, tool, arguments: given };
}

/** Returns the named fields that have a value. */
export function pick(message: Message, names: readonly string[]): Message {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = message[name];
      return value === undefined || value === null ? [] : [[name, value]];
    }),
  );
}

function printCall(item: Message, call: ItemCall): Message {
  return {
    sessionUpdate: "tool_call",
    toolCallId: item.id,
    status: "in_progress",
    rawInput: call.arguments,
    _meta: { fleetctl: nameOf(call) },
  };
}

function nameOf({ mcp, tool }: ItemCall): Message {
  return mcp === undefined ? { tool } : { mcp, tool };
}

function resultOf(item: Message): Message {
  if (item.type === "commandExecution") {
    const { exitCode } = item;
    const failed = typeof exitCode === "number" && exitCode !== 0
      ? [`[exit code ${exitCode}]`]
      : [];
    const output = textOf(item.aggregatedOutput).trimEnd();
    return { rawOutput: [...(output === "" ? [] : [output]), ...failed].join("\n") };
  }
  if (item.type === "fileChange") {
    const paths = blocksOf(item.changes).map(({ path }) => `[changed ${textOf(path)}]`);
    return { rawOutput: item.status === "completed" ? paths.join("\n") : "" };
  }
  if (item.type !== "mcpToolCall") return { rawOutput: "" };
  const error = textOf(fieldsOf(item.error).message);
  if (error !== "") return { rawOutput: error };
  const content = blocksOf(fieldsOf(item.result).content);
  return { content: content.map((block) => ({ type: "content", content: block })) };
}

/** Returns an error as text; programs pass the endpoint's answer on unchanged. */
export function errorOf(error: unknown): string {
  const { message, additionalDetails } = fieldsOf(error);
  const details = textOf(additionalDetails);
  if (details !== "") return details;
  const inner = fieldsOf(parseJsonObject(textOf(message))?.error);
  return textOf(inner.message) || textOf(message);
}
