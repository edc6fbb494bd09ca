/**
 * Decides what happens to a line from the server: forwarded, changed, or dropped. Pure. Blocked
 * tools are removed from tool lists; all other messages pass unchanged.
 *
 * @module
 */

import { brokenMessage } from "core/mcp/broken_message.ts";
import { refusal } from "core/errors.ts";
import { MCP_LIMITS } from "core/limits/mcp.ts";
import { decideTool } from "core/risk/decide.ts";
import type { Risk } from "core/risk/rules.ts";
import { scanEnvelope } from "units/mcp/envelope.ts";
import type { Frame } from "units/mcp/line_framer.ts";
import {
  type Message,
  type MessageId,
  parseLine,
  printError,
  printMessage,
  RPC_CODES,
} from "units/mcp/message.ts";
import { isRecord } from "core/text/json_object.ts";

/** A parsed line of the server. */
export type ServerLine =
  | { readonly kind: "message"; readonly message: Message; readonly bytes: Uint8Array<ArrayBuffer> }
  /** An answer over the size limit; its request must still be answered. */
  | { readonly kind: "oversize"; readonly id: MessageId | undefined; readonly size: number }
  | Garbage;

/** A line that is not a message. */
export interface Garbage {
  readonly kind: "garbage";
  readonly why: string;
  readonly size: number;
  /** The id of the request that it was meant to answer, if readable. */
  readonly id: MessageId | undefined;
  /** Whether it was meant as a message; if so, some request will get no other answer. */
  readonly isBroken: boolean;
}

/** Reads one line of a server. Servers print arbitrary text on stdout; that is not fatal. */
export function readServerFrame(frame: Frame): ServerLine | undefined {
  if (frame.kind === "oversize") {
    const isAnswer = frame.envelope.method === undefined;
    return { kind: "oversize", id: isAnswer ? frame.envelope.id : undefined, size: frame.size };
  }
  const parsed = parseLine(frame.bytes);
  if (parsed === undefined) return undefined;
  return parsed.message.kind === "bad"
    ? readGarbage(frame.bytes, parsed.message.text)
    : { kind: "message", message: parsed.message, bytes: parsed.bytes };
}

function readGarbage(bytes: Uint8Array, why: string): Garbage {
  const { id, keys } = scanEnvelope(bytes);
  // Requests of the server have ids in a separate id space.
  const isRequest = keys.some(({ depth, name }) => depth === 1 && name === "method");
  return {
    kind: "garbage",
    why,
    size: bytes.length,
    id: isRequest ? undefined : id,
    isBroken: !isRequest && (id !== undefined || brokenMessage(bytes) !== undefined),
  };
}

/** Prints the error for an answer that was too large to forward. */
export function printOversize(id: MessageId, mcp: string, size: number): Uint8Array<ArrayBuffer> {
  return printError(
    id,
    RPC_CODES.internal,
    refusal(
      "answer-too-large",
      `Cannot forward the answer of MCP ${JSON.stringify(mcp)}: it has ${size} bytes, must have ` +
        `at most ${MCP_LIMITS.messageBytesMax}; request less at once`,
    ),
  );
}

/** Returns a tool list without the blocked tools, or undefined when nothing changes. */
export function withoutBlocked(
  value: Readonly<Record<string, unknown>>,
  rules: ReadonlyMap<string, Risk>,
): Uint8Array<ArrayBuffer> | undefined {
  const { result } = value;
  if (!isRecord(result) || !Array.isArray(result["tools"])) return undefined;
  const tools: readonly unknown[] = result["tools"];
  const shown = tools.filter((tool) => {
    const name = isRecord(tool) ? tool["name"] : undefined;
    return typeof name === "string" && decideTool(rules, name) !== "block";
  });
  if (shown.length === tools.length) return undefined;
  return printMessage({ ...value, result: { ...result, tools: shown } });
}
