/**
 * Sends a turn's events as ACP session updates. `_meta.fleetctl` carries what ACP has no field for:
 * the MCP and the tool behind a name, denied and stopped calls, the measured duration.
 *
 * @module
 */

import { type AgentContext, methods, type SessionUpdate } from "@agentclientprotocol/sdk";
import { readBase64Image } from "core/images/image.ts";
import type { ReportedCall, TurnSink } from "units/agent_loop/turn/sink.ts";

/** Maximum length of a tool call's title, in characters. */
const TITLE_LENGTH_MAX = 200;

/** Creates the sink of one session. */
export function acpSink(client: AgentContext, sessionId: string): TurnSink {
  const send = (update: SessionUpdate) =>
    client.notify(methods.client.session.update, { sessionId, update });
  return {
    text: (messageId, text) =>
      send({
        sessionUpdate: "agent_message_chunk",
        messageId,
        content: { type: "text", text },
      }),
    callStarted: (call) =>
      send({
        sessionUpdate: "tool_call",
        toolCallId: call.callId,
        name: call.name,
        title: titleOf(call),
        kind: call.tool?.kind ?? "other",
        status: "in_progress",
        rawInput: call.arguments,
        _meta: { fleetctl: metaOf(call) },
      }),
    callEnded: (call, outcome, durationMs) =>
      send({
        sessionUpdate: "tool_call_update",
        toolCallId: call.callId,
        status: outcome.status === "completed" ? "completed" : "failed",
        content: [
          { type: "content", content: { type: "text", text: outcome.text } },
          // Other clients read the declared type; fleetctl reads the bytes.
          ...(outcome.images ?? []).map((data) => ({
            type: "content" as const,
            content: { type: "image" as const, mimeType: mediaTypeOf(data), data },
          })),
        ],
        _meta: {
          fleetctl: {
            ...metaOf(call),
            status: outcome.status,
            duration_ms: Math.round(durationMs * 1000) / 1000,
          },
        },
      }),
    notice: (severity, title) => send({ sessionUpdate: "notice", severity, title }),
    plan: (entries) =>
      send({
        sessionUpdate: "plan",
        entries: entries.map(({ text, state }) => ({
          content: text,
          priority: "medium",
          status: PLAN_STATUS[state],
        })),
      }),
    steered: ({ id, text }) =>
      send({
        sessionUpdate: "notice",
        severity: "info",
        title: "A message was sent into the turn",
        _meta: { fleetctl: { steered: { id, text } } },
      }),
    // A client that does not know the field shows the notice.
    summary: ({ id, text, by }) =>
      send({
        sessionUpdate: "notice",
        severity: "info",
        title: by === "owner" ? "The summary was changed" : "Earlier messages were summarised",
        _meta: { fleetctl: { summary: { id, text, by } } },
      }),
  };
}

const PLAN_STATUS = { pending: "pending", active: "in_progress", done: "completed" } as const;

function mediaTypeOf(base64: string): string {
  const image = readBase64Image(base64);
  return image.ok ? image.value.type : "application/octet-stream";
}

function metaOf(call: ReportedCall): Readonly<Record<string, unknown>> {
  return {
    tool: call.tool?.tool ?? call.name,
    ...(call.tool?.mcp === undefined ? {} : { mcp: call.tool.mcp }),
  };
}

/** Title for a client that does not render this tool itself. */
function titleOf(call: ReportedCall): string {
  const input = call.arguments as Readonly<Record<string, unknown>> | null;
  const subject = input?.command ?? input?.path;
  const title = typeof subject === "string" ? `${call.name}: ${subject}` : call.name;
  return title.slice(0, TITLE_LENGTH_MAX);
}
