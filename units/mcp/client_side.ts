/**
 * Decides what happens to a line from the client: forwarded, answered here, or dropped. Pure.
 * Admission and the risk gate are applied here, before anything reaches the server.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import { MCP_LIMITS } from "core/limits/mcp.ts";
import type { Result } from "core/result.ts";
import { type CallOrigin, DIRECT, readOrigin } from "core/mcp/call_origin.ts";
import type { ToolCall } from "core/risk/call.ts";
import { decideCall, isMcpHeld, mcpHeld } from "core/risk/decide.ts";
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
import { isRecord } from "core/text/json_object.ts";

/** The decision about one client line. */
export type ClientVerdict =
  /** A call that needs a human's approval; `bytes` are sent to the server after that. */
  | {
    readonly kind: "ask";
    readonly message: Request;
    readonly call: ToolCall;
    readonly gate: Gate;
    readonly bytes: Uint8Array<ArrayBuffer>;
  }
  | { readonly kind: "forward"; readonly message: Message; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: "answer"; readonly bytes: Uint8Array<ArrayBuffer>; readonly why: string }
  | { readonly kind: "drop"; readonly why: string };

type Request = Extract<Message, { kind: "request" }>;

/** The agent and the MCP of the proxy. */
export interface ProxyOwner {
  readonly agent: string;
  readonly mcp: string;
}

/** Judges one line of the client of an agent's MCP. */
export function judgeClientFrame(
  frame: Frame,
  owner: ProxyOwner,
  gate: Result<Gate>,
): ClientVerdict {
  const { mcp } = owner;
  if (frame.kind === "oversize") return judgeOversize(frame, mcp);
  const parsed = parseLine(frame.bytes);
  if (parsed === undefined) return { kind: "drop", why: "empty line" };
  const { message, bytes } = parsed;
  if (message.kind === "bad") {
    const reason = unusable(mcp, message.text);
    return { kind: "answer", bytes: printError(message.id, message.code, reason), why: "bad" };
  }
  const ambiguity = findAmbiguity(parsed.text);
  if (ambiguity !== undefined) {
    const id = message.kind === "notification" ? null : message.id;
    const reason = unusable(mcp, ambiguity);
    return {
      kind: "answer",
      bytes: printError(id, RPC_CODES.invalidRequest, reason),
      why: "ambiguous",
    };
  }
  if (!gate.ok) return refused(message, gate.error);
  // Resources, prompts and completions are server output as much as tools are.
  if (isMcpHeld(gate.value) && !isToolCall(message)) return refused(message, mcpHeld(mcp));
  if (message.kind === "response") return { kind: "forward", message, bytes };
  if (message.method === "tools/call") return judgeCall(message, bytes, owner, gate.value);
  // A lenient server might accept another spelling of the one gated method.
  return message.method.normalize("NFKC").trim().toLowerCase() === "tools/call"
    ? refused(message, unusable(mcp, '"method" has a non-standard spelling'))
    : { kind: "forward", message, bytes };
}

function isToolCall(message: Message): boolean {
  return message.kind === "request" && message.method === "tools/call";
}

function judgeCall(
  message: Exclude<Message, { kind: "response" }>,
  bytes: Uint8Array<ArrayBuffer>,
  owner: ProxyOwner,
  gate: Gate,
): ClientVerdict {
  const call = readCall(message.params, owner, gate);
  if (typeof call === "string") return refused(message, unusable(owner.mcp, call));
  const verdict = decideCall(gate, call);
  if (verdict.decision === "block") return refused(message, verdict.why);
  // A notification has no answer, so it cannot wait for an approval.
  if (message.kind === "notification") return refused(message, unusable(owner.mcp, "it has no id"));
  return verdict.decision === "ask"
    ? { kind: "ask", message, call, gate, bytes }
    : { kind: "forward", message, bytes };
}

/** Reads the call of a `tools/call`, or returns what is unusable about it. */
function readCall(
  params: Readonly<Record<string, unknown>>,
  { agent, mcp }: ProxyOwner,
  gate: Gate,
): ToolCall | string {
  const tool = params["name"];
  if (typeof tool !== "string") return "params.name is not a string";
  const given = params["arguments"] ?? {};
  if (!isRecord(given)) return "params.arguments is not an object";
  const origin = originOf(params["_meta"]);
  return { agent, mcp, version: gate.version, tool, arguments: given, origin };
}

function originOf(meta: unknown): CallOrigin {
  const own = isRecord(meta) ? meta["fleetctl"] : undefined;
  return isRecord(own) ? readOrigin(own["origin"]) : DIRECT;
}

function refused(message: Message, reason: Refusal): ClientVerdict {
  if (message.kind !== "request") return { kind: "drop", why: reason.code };
  return { kind: "answer", bytes: printRefusal(message, reason), why: reason.code };
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
    `Cannot forward the message to MCP ${JSON.stringify(mcp)}: ${state}`,
  );
}

/** Prints a refusal; that of a tool call is a tool result, so that the reason reaches the model. */
export function printRefusal(request: Request, reason: Refusal): Uint8Array<ArrayBuffer> {
  return request.method === "tools/call" && reason.code !== "message-unusable"
    ? printDenied(request, reason)
    : printError(request.id, RPC_CODES.invalidRequest, reason);
}
