/**
 * What is done with a line from the client: forwarded, answered here, or dropped. Pure.
 * Admission and the risk gate are applied here, before anything reaches the server.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import { MCP_LIMITS } from "core/limits.ts";
import type { Result } from "core/result.ts";
import { checkDecision, decideTool } from "core/risk/decide.ts";
import type { Gate } from "core/risk/rules.ts";
import type { Frame } from "units/mcp/line_framer.ts";
import {
  findAmbiguity,
  type Message,
  parseLine,
  printDenied,
  printError,
  RPC_CODES,
} from "units/mcp/message.ts";

/** The way of one client line. */
export type ClientVerdict =
  | { readonly kind: "forward"; readonly message: Message; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: "answer"; readonly bytes: Uint8Array<ArrayBuffer>; readonly why: string }
  | { readonly kind: "drop"; readonly why: string };

type Request = Extract<Message, { kind: "request" }>;

/** Judges one line of the client of `mcp`. */
export function judgeClientFrame(frame: Frame, mcp: string, gate: Result<Gate>): ClientVerdict {
  if (frame.kind === "oversize") return judgeOversize(frame, mcp);
  const parsed = parseLine(frame.bytes);
  if (parsed === undefined) return { kind: "drop", why: "empty line" };
  const { message, bytes } = parsed;
  if (message.kind === "bad") {
    const reason = unusable(mcp, message.text);
    return { kind: "answer", bytes: printError(message.id, message.code, reason), why: "bad" };
  }
  const ambiguity = findAmbiguity(frame.bytes);
  if (ambiguity !== undefined) {
    const id = message.kind === "notification" ? null : message.id;
    const reason = unusable(mcp, ambiguity);
    return {
      kind: "answer",
      bytes: printError(id, RPC_CODES.invalidRequest, reason),
      why: "ambiguous",
    };
  }
  const refused = checkMessage(message, mcp, gate);
  if (refused === undefined) return { kind: "forward", message, bytes };
  if (message.kind !== "request") return { kind: "drop", why: refused.code };
  return { kind: "answer", bytes: printRefusal(message, refused), why: refused.code };
}

function judgeOversize(
  frame: Extract<Frame, { kind: "oversize" }>,
  mcp: string,
): ClientVerdict {
  const { id, method } = frame.envelope;
  const why = "message-too-large";
  if (id === undefined || method === undefined) return { kind: "drop", why };
  const reason = refusal(
    why,
    `Cannot send the message to MCP ${
      JSON.stringify(mcp)
    }: it has ${frame.size} bytes, must have ` +
      `at most ${MCP_LIMITS.messageBytesMax}`,
  );
  return { kind: "answer", bytes: printError(id, RPC_CODES.invalidRequest, reason), why };
}

function unusable(mcp: string, state: string): Refusal {
  return refusal(
    "message-unusable",
    `Cannot pass the message on to MCP ${JSON.stringify(mcp)}: ${state}`,
  );
}

function checkMessage(message: Message, mcp: string, gate: Result<Gate>): Refusal | undefined {
  if (!gate.ok) return gate.error;
  if (message.kind === "response") return undefined;
  if (message.method !== "tools/call") {
    // A lenient server must not be reached by another spelling of the one gated method.
    return message.method.normalize("NFKC").trim().toLowerCase() === "tools/call"
      ? unusable(mcp, '"method" is spelled in another way')
      : undefined;
  }
  const tool = message.params["name"];
  if (typeof tool !== "string") return unusable(mcp, "params.name is not a string");
  const checked = checkDecision(decideTool(gate.value.rules, tool), { mcp, tool });
  return checked.ok ? undefined : checked.error;
}

/** A refused tool call is answered as a tool result, so that the reason reaches the model. */
function printRefusal(request: Request, reason: Refusal): Uint8Array<ArrayBuffer> {
  return request.method === "tools/call" && reason.code !== "message-unusable"
    ? printDenied(request, reason)
    : printError(request.id, RPC_CODES.invalidRequest, reason);
}
