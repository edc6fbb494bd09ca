/**
 * Answers to a runtime's `session/request_permission`. Deny is the default on every path: no
 * decider, a decider that throws, or an agent that offers no fitting option. No I/O.
 *
 * @module
 */

import type { RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";

/** What the runtime wants to do. */
export interface PermissionAsk {
  readonly callId: string;
  readonly tool: string;
  readonly title: string;
  readonly arguments: unknown;
}

/** Decides one request; only `allow` lets the runtime go on, once. */
export type PermissionDecider = (ask: PermissionAsk) => Promise<"allow" | "deny">;

/** Asks `decide` and answers in the words of the protocol; nothing is ever allowed for good. */
export async function answerPermission(
  request: RequestPermissionRequest,
  decide: PermissionDecider | undefined,
): Promise<RequestPermissionResponse> {
  const decision = decide === undefined ? "deny" : await decideSafely(request, decide);
  const kind = decision === "allow" ? "allow_once" : "reject_once";
  const option = request.options.find((offered) => offered.kind === kind);
  return option === undefined
    ? { outcome: { outcome: "cancelled" } }
    : { outcome: { outcome: "selected", optionId: option.optionId } };
}

async function decideSafely(
  request: RequestPermissionRequest,
  decide: PermissionDecider,
): Promise<"allow" | "deny"> {
  const call = request.toolCall;
  try {
    return await decide({
      callId: call.toolCallId,
      tool: call.name ?? call.title ?? "tool",
      title: call.title ?? "",
      arguments: call.rawInput,
    });
  } catch {
    // Errors deny (decision 13); the decider reports its own faults.
    return "deny";
  }
}
