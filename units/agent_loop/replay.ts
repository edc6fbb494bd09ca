/**
 * Sends the stored conversation as ACP session updates, for a client that loads a session and shows
 * its history. Tool results are shortened; the model still has them in full.
 *
 * @module
 */

import { type AgentContext, methods, type SessionUpdate } from "@agentclientprotocol/sdk";
import { cutMiddle } from "core/text/cut_text.ts";
import type { SessionRecord } from "units/agent_loop/conversation/message.ts";

const RESULT_BYTES_MAX = 8 * 1024;

/** Sends the updates in order. */
export async function replay(
  records: readonly SessionRecord[],
  sessionId: string,
  client: AgentContext,
): Promise<void> {
  for (const record of records) {
    for (const update of updatesOf(record)) {
      await client.notify(methods.client.session.update, { sessionId, update });
    }
  }
}

function updatesOf(record: SessionRecord): readonly SessionUpdate[] {
  switch (record.type) {
    case "user":
    case "steer":
      return [{
        sessionUpdate: "user_message_chunk",
        content: { type: "text", text: record.text },
      }];
    case "assistant":
      return record.parts.flatMap((part): SessionUpdate[] => {
        if (part.type === "reasoning") return [];
        if (part.type === "text") {
          return [{
            sessionUpdate: "agent_message_chunk",
            content: { type: "text", text: part.text },
          }];
        }
        return [{
          sessionUpdate: "tool_call",
          toolCallId: part.call_id,
          name: part.tool,
          title: part.tool,
          status: "in_progress",
          rawInput: part.arguments,
        }];
      });
    case "result": {
      const { text } = cutMiddle(record.text, RESULT_BYTES_MAX);
      return [{
        sessionUpdate: "tool_call_update",
        toolCallId: record.call_id,
        status: record.status === "completed" ? "completed" : "failed",
        content: [{ type: "content", content: { type: "text", text } }],
      }];
    }
    default:
      return [];
  }
}
