/**
 * A call that waits for a human, as an editor shows it: the request for permission with everything
 * that the decision is about, the answer's meaning, and the sentences when no editor decides. Pure.
 *
 * @module
 */

import type {
  RequestPermissionOutcome,
  RequestPermissionRequest,
  ToolCallUpdate,
} from "@agentclientprotocol/sdk";
import { codeContent, toolKind, toolName, toolTitle } from "cli/acp/tool_view.ts";
import { approvedTool, argumentLines } from "cli/approvals/evidence.ts";
import { EVENT_PAYLOADS } from "core/dial/event.ts";
import { cleanLine } from "core/text/clean.ts";

/** A call that waits, as the dial unit reports it. */
export interface AskedCall {
  readonly id: string;
  /** Null for a tool of the agent's program. */
  readonly mcp: string | null;
  readonly version: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly origin: string;
  readonly isDestructive: boolean;
  readonly expires: number;
  readonly digest: string;
}

/** The decision of a person. */
export type Decision = "approved" | "denied";

const OPTIONS = [
  { optionId: "approve", name: "Allow once", kind: "allow_once" },
  { optionId: "deny", name: "Reject", kind: "reject_once" },
] as const;
const DECISIONS: Readonly<Record<string, Decision>> = { approve: "approved", deny: "denied" };

/** Reads the payload of `approval_asked`; undefined when it is malformed. */
export function readAsked(payload: Readonly<Record<string, unknown>>): AskedCall | undefined {
  const asked = EVENT_PAYLOADS.approval_asked.safeParse(payload);
  if (!asked.success) return undefined;
  const { approval_id: id, is_destructive: isDestructive, ...call } = asked.data;
  return { id, isDestructive, ...call };
}

/** Returns the request; `callId` is the id under which the editor shows the call. */
export function permissionRequest(
  sessionId: string,
  callId: string,
  call: AskedCall,
): RequestPermissionRequest {
  return {
    sessionId,
    toolCall: {
      toolCallId: callId,
      title: toolTitle(call),
      name: call.tool,
      kind: toolKind(call.tool),
      status: "pending",
      content: codeContent(evidence(call).join("\n")),
      rawInput: call.arguments,
    },
    options: OPTIONS.map((option) => ({ ...option })),
  };
}

/** Returns the decision; undefined when the person made none. */
export function decisionOf(outcome: RequestPermissionOutcome): Decision | undefined {
  if (outcome.outcome !== "selected") return undefined;
  return Object.hasOwn(DECISIONS, outcome.optionId) ? DECISIONS[outcome.optionId] : undefined;
}

/** How a question ended: decided by a person, or without a decision. */
export type AskedEnd = Decision | "expired" | "superseded";

/**
 * Returns the update for a call whose question is over. A call of the turn continues, and its
 * result follows. A call that only the question showed ends here.
 */
export function askedEndUpdate(
  callId: string,
  end: AskedEnd,
  isOfTurn: boolean,
): ToolCallUpdate & { readonly sessionUpdate: "tool_call_update" } {
  const ended = end === "approved" ? "completed" : "failed";
  return {
    sessionUpdate: "tool_call_update",
    toolCallId: callId,
    status: isOfTurn ? "in_progress" : ended,
  };
}

/** Tells how a call can be decided, when this editor does not decide it. */
export function howToDecide(call: AskedCall, command: (line: string) => string): string {
  const shown = command(`fleetctl approvals show ${call.id.slice(0, 8)}`);
  const decided = command(`fleetctl approvals approve ${call.id.slice(0, 8)}`);
  return `The call ${
    cleanLine(toolName(call))
  } waits for a human. To see it, an operator runs \`${shown}\`; ` +
    `to allow it, \`${decided}\`. The agent's owner can decide in the page.`;
}

function evidence(call: AskedCall): readonly string[] {
  return [
    // One line each, so that a name cannot add another line.
    `tool         ${cleanLine(approvedTool({ ...call, mcp: call.mcp ?? "" }))}`,
    `origin       ${cleanLine(call.origin)}`,
    `may destroy  ${call.isDestructive ? "yes" : "no, as its server declares"}`,
    `expires      ${new Date(call.expires).toISOString()}`,
    ...argumentLines(call.arguments),
  ];
}
