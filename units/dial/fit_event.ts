/**
 * Makes an event fit its limits and its frame, and says what was cut. No I/O.
 * An event that did not fit would be refused by the gateway for ever and block the outbox behind
 * it; JSON can make a text six times longer, so the encoded size is what counts.
 *
 * @module
 */

import { DIAL_LIMITS, TURN_LIMITS } from "core/limits.ts";

/** Room for the envelope of a frame around the payload. */
const ENVELOPE_BYTES = 1024;
const PAYLOAD_BYTES_MAX = DIAL_LIMITS.frameBytesMax - ENVELOPE_BYTES;

/** Returns the UTF-8 length of a text. */
export function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Cuts a text to at most `bytesMax` UTF-8 bytes at a character, and counts what went. */
export function cutText(
  text: string,
  bytesMax: number,
): { readonly text: string; readonly cutBytes: number } {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= bytesMax) return { text, cutBytes: 0 };
  let end = bytesMax;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return { text: new TextDecoder().decode(bytes.subarray(0, end)), cutBytes: bytes.length - end };
}

/** Returns the payload with its long field cut until it fits; `cut_bytes` tells by how much. */
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
