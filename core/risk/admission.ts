/**
 * The steps of `mcp read` and `mcp call`, both local and relayed: decide, get approval where the
 * rules require it, then call. One gate for both verbs, because for the calling agent `mcp read`
 * may call any tool too. No I/O.
 *
 * @module
 */

import type { QuestionForm, QuestionReply } from "core/questions/form.ts";
import type { McpAnswer, McpClient, McpEndpoint, McpTool } from "core/ports/mcp_client.ts";
import { err, type Result } from "core/result.ts";
import { admitListed } from "core/risk/accepted.ts";
import type { ToolCall } from "core/risk/call.ts";
import { approvalUnavailable, decideCall } from "core/risk/decide.ts";
import type { Gate } from "core/risk/rules.ts";

/** Requests a human's approval of one call; ok only when this call may run now, once. */
export type AskHuman = (call: ToolCall) => Promise<Result<void>>;

/** Calls a tool through the gate. Without `ask`, a call that needs approval is denied. */
export async function callAdmitted(
  gate: Gate,
  call: ToolCall & { readonly timeoutMs?: number },
  to: {
    readonly client: McpClient;
    readonly at: McpEndpoint;
    readonly ask?: AskHuman;
    /** Answers the server's own requests during the call. */
    readonly answer?: (question: QuestionForm) => Promise<QuestionReply>;
  },
): Promise<Result<McpAnswer>> {
  const verdict = decideCall(gate, call);
  if (verdict.decision === "block") return err(verdict.why);
  if (verdict.decision === "ask") {
    const asked = to.ask === undefined ? err(approvalUnavailable(call)) : await to.ask(call);
    if (!asked.ok) return asked;
  }
  // The agent's own proxy checks the server's list itself. Without a proxy, check it here.
  const watched = !("command" in to.at) && gate.accepted !== undefined
    ? { admit: (listed: readonly McpTool[]) => admitListed(gate, call, listed) }
    : {};
  const answering = to.answer === undefined ? {} : { answer: to.answer };
  return await to.client.callTool(gate.mcp, to.at, { ...call, ...watched, ...answering });
}
