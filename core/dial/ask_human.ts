/**
 * Requests a human decision about one call through the agent's dial unit. One connection to its
 * local socket sends the request, waits for the decision without a time limit, and claims the
 * approval right before the call. Every endpoint uses this function. The wait counts against no
 * time limit of the call.
 *
 * @module
 */

import type { ApprovalView, LocalRequest } from "core/dial/local_frames.ts";
import { connectLocal, type LocalConnection } from "core/dial/local_connection.ts";
import { query, type QueryTarget, refusalOf, unexpected } from "core/dial/local_query.ts";
import { errorText } from "core/errors.ts";
import { APPROVAL_LIMITS } from "core/limits/approval.ts";
import type { Clock } from "core/ports/clock.ts";
import type { CallOrigin } from "core/mcp/call_origin.ts";
import type { ByteStream } from "core/ports/sockets.ts";
import { err, ok, type Result } from "core/result.ts";
import type { AskHuman } from "core/risk/admission.ts";
import { deniedByHuman, undecidedRefusal } from "core/risk/approval.ts";
import { callDigest, type ToolCall } from "core/risk/call.ts";
import { approvalUnavailable } from "core/risk/decide.ts";

/** Dependencies of a request for approval. */
export interface ApprovalDeps {
  /** The dial unit's local socket. */
  readonly socket: string;
  connect(path: string): Promise<ByteStream>;
  /**
   * Returns the digest of the current rules, or the refusal of a call that they block. Called again
   * after the decision: an approval under other rules is not valid.
   */
  readonly policy: (call: ToolCall) => Promise<Result<string>>;
  /** Tells whether the tool may be destructive; when absent, every tool counts as destructive. */
  readonly isDestructive?: (tool: string) => boolean;
  /** Called when the request is open. */
  readonly onAsked?: (asked: { readonly id: string; readonly expires: number }) => void;
  /** Aborting it withdraws the request. */
  readonly signal?: AbortSignal;
  /** Aborting it ends the connection without withdrawing the request: the caller may return. */
  readonly leave?: AbortSignal;
  /** For a caller that is part of a turn: a lost dial unit is then reported after a pause. */
  readonly clock?: Pick<Clock, "sleep">;
}

/**
 * Pause before a lost dial unit is reported. The runtime usually ends with its dial unit. A turn
 * that continues after that must not have stored this fault as the result of the call.
 */
const LOST_MS = 2_000;

/** Longest line that a dial unit sends, in bytes. */
const LINE_BYTES_MAX = 64 * 1024;
/** A list of approvals includes their arguments. */
const LIST_BYTES_MAX = 2 * APPROVAL_LIMITS.openMax * APPROVAL_LIMITS.argumentsBytesMax;

/** Creates the function that an endpoint uses to request approval. */
export function createApprovalRequest(deps: ApprovalDeps): AskHuman {
  return async (call) => {
    const connection = await connectLocal(deps.socket, deps.connect, LINE_BYTES_MAX);
    if (!connection.ok) return err(approvalUnavailable(call, connection.error));
    const leave = () => connection.value.close();
    const withdraw = () =>
      void connection.value.send({ type: "approval_withdraw" }).catch(() => {
        // The dial unit has ended, so no request is open there.
      }).finally(leave);
    deps.signal?.addEventListener("abort", withdraw, { once: true });
    deps.leave?.addEventListener("abort", leave, { once: true });
    if (deps.signal?.aborted === true) withdraw();
    if (deps.leave?.aborted === true) leave();
    try {
      return await requestOnce(call, connection.value, deps);
    } catch (thrown) {
      const isWanted = deps.signal?.aborted !== true && deps.leave?.aborted !== true;
      if (isWanted) await pause(deps);
      // Not decided, or decided but not claimed: in both cases the call is not made.
      return err(
        approvalUnavailable(call, `the connection to the dial unit was lost: ${errorText(thrown)}`),
      );
    } finally {
      deps.signal?.removeEventListener("abort", withdraw);
      deps.leave?.removeEventListener("abort", leave);
      // A request that has its decision is not withdrawn by this.
      if (deps.leave?.aborted !== true) withdraw();
    }
  };
}

async function pause({ clock, signal, leave }: ApprovalDeps): Promise<void> {
  const signals = [signal, leave].filter((each) => each !== undefined);
  await clock?.sleep(LOST_MS, AbortSignal.any(signals));
}

/** Returns the approvals of one agent. */
export async function listApprovals(
  target: QueryTarget,
): Promise<Result<readonly ApprovalView[]>> {
  const answer = await query(target, { type: "approvals" }, LIST_BYTES_MAX);
  if (!answer.ok) return answer;
  return answer.value.type === "approvals_result"
    ? ok(answer.value.approvals)
    : err(unexpected(answer.value));
}

/** Sends a decision about one approval; the first decision is final. */
export async function sendDecision(
  target: QueryTarget,
  decision: Omit<Extract<LocalRequest, { type: "approval_decide" }>, "type">,
): Promise<Result<ApprovalView>> {
  const answer = await query(target, { type: "approval_decide", ...decision }, LIST_BYTES_MAX);
  if (!answer.ok) return answer;
  return answer.value.type === "approval_result"
    ? ok(answer.value.approval)
    : err(unexpected(answer.value));
}

async function requestOnce(
  call: ToolCall,
  connection: LocalConnection,
  deps: ApprovalDeps,
): Promise<Result<void>> {
  const policy = await deps.policy(call);
  if (!policy.ok) return policy;
  const { mcp, version, tool, origin } = call;
  await connection.send({
    type: "approval_ask",
    mcp,
    version,
    tool,
    arguments: { ...call.arguments },
    origin: origin satisfies CallOrigin,
    policy: policy.value,
    is_destructive: deps.isDestructive?.(tool) ?? true,
  });
  const asked = await connection.receive();
  if (asked.type === "error") return err(approvalUnavailable(call, asked.message));
  if (asked.type !== "approval_asked") return err(unexpected(asked));
  const { id } = asked;
  deps.onAsked?.({ id, expires: asked.expires });
  const answer = await connection.receive();
  if (answer.type !== "approval_answer") return err(unexpected(answer));
  const { outcome, by = "an unknown person", reason } = answer;
  if (outcome === "denied") return err(deniedByHuman(call, { by, reason }));
  if (outcome !== "approved") return err(undecidedRefusal(call, outcome));
  return await claim(call, id, connection, deps);
}

/**
 * Claims the approval. The rules may have changed during the wait, so the call is decided again.
 */
async function claim(
  call: ToolCall,
  id: string,
  connection: LocalConnection,
  deps: ApprovalDeps,
): Promise<Result<void>> {
  const policy = await deps.policy(call);
  if (!policy.ok) return policy;
  const digest = await callDigest(call, policy.value);
  await connection.send({ type: "approval_use", id, digest });
  const used = await connection.receive();
  if (used.type === "approval_used" && used.id === id) return ok(undefined);
  return used.type === "error" ? err(refusalOf(used)) : err(unexpected(used));
}
