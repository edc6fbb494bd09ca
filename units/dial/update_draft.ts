/**
 * The durable event of what a runtime reports. Pure.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { RuntimeUpdate } from "units/dial/runtimes/driver.ts";

/** Converts an update to its durable event. */
export function draftOf(
  update: Exclude<RuntimeUpdate, { kind: "text_delta" | "image" }>,
): { readonly kind: string; readonly payload: Record<string, unknown> } {
  switch (update.kind) {
    case "message": {
      const { messageId, text } = update;
      return { kind: "message", payload: { message_id: messageId, role: "assistant", text } };
    }
    case "tool_call": {
      const { callId, mcp, tool } = update;
      const payload = { call_id: callId, mcp: mcp ?? null, tool, arguments: update.arguments };
      return { kind: "tool_call", payload };
    }
    case "tool_result": {
      const { callId, status, text, cutBytes, durationMs } = update;
      return {
        kind: "tool_result",
        payload: { call_id: callId, status, text, cut_bytes: cutBytes, duration_ms: durationMs },
      };
    }
    case "notice":
      return { kind: "notice", payload: { text: update.text } };
    case "plan":
      return { kind: "plan", payload: { entries: update.entries } };
    case "steered":
      return { kind: "turn_steered", payload: { from: update.messageId, text: update.text } };
    case "summary": {
      const { summaryId, text, by } = update;
      return { kind: "summary", payload: { summary_id: summaryId, text, by } };
    }
    case "usage": {
      const { isPartial } = update;
      const models = update.models.map((of) => ({
        model: of.model,
        input_tokens: of.inputTokens,
        output_tokens: of.outputTokens,
        cached_read_tokens: of.cachedReadTokens,
        cached_write_tokens: of.cachedWriteTokens,
      }));
      return { kind: "usage", payload: { models, ...defined({ is_partial: isPartial }) } };
    }
  }
}
