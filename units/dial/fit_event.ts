/**
 * Makes an event fit its limits and its frame, and reports how much was cut. No I/O. The gateway
 * would refuse an oversized event forever, and it would block the outbox behind it. JSON can make a
 * text six times longer, so the encoded size is measured.
 *
 * @module
 */

import { DIAL_LIMITS } from "core/limits/dial.ts";
import { TURN_LIMITS } from "core/limits/turn.ts";
import { byteLength, cutText } from "core/text/cut_text.ts";

/** Bytes reserved for the frame's envelope around the payload. */
const ENVELOPE_BYTES = 1024;
const PAYLOAD_BYTES_MAX = DIAL_LIMITS.frameBytesMax - ENVELOPE_BYTES;

/** Returns the payload with its long field cut until it fits; `cut_bytes` states by how much. */
export function fitPayload(
  kind: string,
  payload: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const field = kind === "tool_call" ? "arguments" : "text";
  const limit = fieldLimit(kind);
  let fitted: Record<string, unknown> = { ...payload };
  let allowed = limit;
  while (true) {
    fitted = cutField(payload, field, allowed);
    if (byteLength(JSON.stringify(fitted)) <= PAYLOAD_BYTES_MAX || allowed < 64) return fitted;
    allowed = Math.floor(allowed / 2);
  }
}

function fieldLimit(kind: string): number {
  if (kind === "tool_call") return TURN_LIMITS.toolArgumentsBytesMax;
  if (kind === "tool_result") return TURN_LIMITS.toolResultBytesMax;
  return TURN_LIMITS.messageBytesMax;
}

function cutField(
  payload: Readonly<Record<string, unknown>>,
  field: string,
  bytesMax: number,
): Record<string, unknown> {
  const value = payload[field];
  if (value === undefined) return { ...payload };
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "null";
  const cut = cutText(text, bytesMax);
  if (cut.cutBytes === 0) return { ...payload };
  const before = typeof payload.cut_bytes === "number" ? payload.cut_bytes : 0;
  return { ...payload, [field]: cut.text, cut_bytes: before + cut.cutBytes };
}
