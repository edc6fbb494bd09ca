/**
 * Approvals on the local socket. A request for an approval keeps its connection open until it ends;
 * reading and deciding do not. The kernel's peer credentials determine who may decide: root, or the
 * owner of a root other than `/`. The agent's own programs request approvals, so they never decide.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import {
  type LocalAnswer,
  type LocalRequest,
  localRequest,
  viewOf,
} from "core/dial/local_frames.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { readOrigin } from "core/mcp/call_origin.ts";
import { parseJsonLine } from "core/text/json_lines.ts";
import type { Approvals, Outcome } from "units/dial/approvals.ts";

type Ask = Extract<LocalRequest, { type: "approval_ask" }>;
type ApprovalRequest = Extract<LocalRequest, { type: "approvals" | "approval_decide" }>;

/** The agent of this dial unit, and whether the peer may decide. */
export interface PeerRights {
  readonly agent: string;
  readonly mayDecide: boolean;
}

/** Answers a request that lists approvals or decides about one. Never waits. */
export function answerApprovals(
  request: ApprovalRequest,
  approvals: Approvals,
  rights: PeerRights,
): LocalAnswer {
  if (request.type === "approvals") {
    return { type: "approvals_result", approvals: approvals.list().map(viewOf) };
  }
  if (!rights.mayDecide) return errorLine(deniedToAgent());
  const { agent = rights.agent, id, digest, decision, by, reason } = request;
  if (agent !== rights.agent) return errorLine(wrongAgent(agent, rights.agent));
  const decided = approvals.decide({
    id,
    digest,
    decision,
    by,
    surface: "cli",
    ...defined({ reason }),
  });
  return decided.ok
    ? { type: "approval_result", approval: viewOf(decided.value) }
    : errorLine(decided.error);
}

/**
 * Serves one request for an approval to its end. The first line after a decision claims the
 * approval. Any other line withdraws the request. When the connection ends, the request may stay
 * open, because its caller may return.
 */
export async function serveQuestion(
  ask: Ask,
  approvals: Approvals,
  peer: {
    next(): Promise<string | undefined>;
    answer(value: LocalAnswer): Promise<void>;
  },
): Promise<void> {
  const { mcp, version, tool, policy, is_destructive: isDestructive } = ask;
  const opened = await approvals.ask(
    { mcp, version, tool, arguments: ask.arguments, origin: readOrigin(ask.origin) },
    { policy, isDestructive },
  );
  if (!opened.ok) return await peer.answer(errorLine(opened.error));
  const { approval, outcome, delivered, use, withdraw, leave } = opened.value;
  let hasLeft = true;
  try {
    const { id, expiresAt } = approval;
    await peer.answer({ type: "approval_asked", id, expires: expiresAt });
    const next = peer.next().then((line) => {
      hasLeft = line === undefined;
      return line;
    });
    const found = await Promise.race([outcome, next.then(() => undefined)]);
    if (found === undefined) return;
    await peer.answer(answerOf(id, found));
    const noted = delivered();
    if (!noted.ok || found.kind !== "approved") return;
    const claim = localRequest.safeParse(parseJsonLine(await next ?? ""));
    if (!claim.success || claim.data.type !== "approval_use" || claim.data.id !== id) return;
    const used = use(claim.data.digest);
    await peer.answer(used.ok ? { type: "approval_used", id } : errorLine(used.error));
  } finally {
    if (hasLeft) leave();
    else withdraw();
  }
}

function answerOf(id: string, outcome: Outcome): LocalAnswer {
  if (!("verdict" in outcome)) return { type: "approval_answer", id, outcome: outcome.kind };
  const { by, reason } = outcome.verdict;
  return { type: "approval_answer", id, outcome: outcome.kind, by, ...defined({ reason }) };
}

function errorLine({ code, message }: Refusal): LocalAnswer {
  return { type: "error", code, message };
}

function deniedToAgent() {
  return refusal(
    "approval-not-yours",
    "Cannot decide about the approval: the caller is the agent itself, must be root or the " +
      "agent's owner in the page",
    { kind: "denied" },
  );
}

/** The agent owns the folder of its socket and can link another agent's socket there. */
export function wrongAgent(wanted: string, agent: string): Refusal {
  return refusal(
    "agent-mismatch",
    `Cannot accept the request: it is for agent "${wanted}", this is the dial unit of "${agent}"`,
  );
}
