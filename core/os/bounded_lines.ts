/**
 * Bytes → lines, bounded, for the short-lived MCP clients. What passes messages on for long is
 * `units/mcp/line_framer.ts`.
 *
 * @module
 */

import { MCP_LIMITS } from "core/limits.ts";

const NEWLINE = 0x0a;

/** Yields the lines of a stream without their ends; throws at one that is too long. */
export async function* boundedLines(
  readable: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of readable) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      yield joined([...parts, chunk.subarray(from, end)]);
      parts = [];
      size = 0;
      from = end + 1;
    }
    size += chunk.length - from;
    if (size > MCP_LIMITS.messageBytesMax) {
      throw new Error(`its answer has more than ${MCP_LIMITS.messageBytesMax} bytes`);
    }
    if (from < chunk.length) parts.push(chunk.slice(from));
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
