/**
 * The calls of one turn that wait for a human, and the editor's answers to them. The first decision
 * counts, wherever it is made: a decision from elsewhere closes the question in the editor.
 *
 * @module
 */

import type {
  RequestPermissionRequest,
  RequestPermissionResponse,
  SessionUpdate,
} from "@agentclientprotocol/sdk";
import { PendingRequests, type RequestDeps } from "cli/acp/pending_requests.ts";
import {
  type AskedCall,
  type AskedEnd,
  askedEndUpdate,
  type Decision,
  decisionOf,
  howToDecide,
  permissionRequest,
  readAsked,
} from "cli/acp/permission.ts";
import type { TurnUpdate } from "cli/ask_turn.ts";
import type { Result } from "core/result.ts";

/** Dependencies of `TurnApprovals`. */
export interface TurnApprovalsDeps extends RequestDeps {
  readonly sessionId: string;
  /** Whether the caller of this program may decide. */
  readonly mayDecide: boolean;
  /** Returns the id under which the editor shows the call. */
  openCall(call: AskedCall): string | undefined;
  /** Asks the editor; aborting `signal` withdraws the request. */
  requestPermission(
    request: RequestPermissionRequest,
    signal: AbortSignal,
  ): Promise<RequestPermissionResponse>;
  /** Sends the decision to the dial unit. */
  decide(call: AskedCall, decision: Decision): Promise<Result<unknown>>;
  send(update: SessionUpdate): void;
  /** Returns a command as it must be typed here. */
  command(line: string): string;
}

/** How the editor shows a call that waits. */
interface ShownCall {
  readonly callId: string;
  readonly isOfTurn: boolean;
}

/** Handles the approvals of one turn. */
export class TurnApprovals {
  readonly #deps: TurnApprovalsDeps;
  readonly #pending: PendingRequests;
  readonly #calls = new Map<string, ShownCall>();

  constructor(deps: TurnApprovalsDeps) {
    this.#deps = deps;
    this.#pending = new PendingRequests(deps);
  }

  /** Handles an event of the turn; never waits for a person. */
  take(update: TurnUpdate): void {
    if (update.type !== "turn_event") return;
    const { kind, payload } = update;
    const id = String(payload.approval_id);
    if (kind === "approval_asked") this.#asked(payload);
    if (kind === "approval_decided") {
      const decision = payload.decision === "approved" ? "approved" : "denied";
      if (this.#over(id, decision) !== "elsewhere") return;
      this.#deps.note(`The call was ${decision} by ${String(payload.by)}.`, "aside");
    }
    if (kind === "approval_ended" && payload.state === "superseded") this.#over(id, "superseded");
    if (kind === "approval_ended" && payload.state === "expired") {
      if (this.#over(id, "expired") === undefined) return;
      this.#deps.note("No decision was made in time, so the call was denied.", "aside");
    }
  }

  /** Closes the open questions in the editor, without a decision. */
  close(): void {
    for (const id of this.#pending.ids()) this.#over(id, "superseded");
  }

  #asked(payload: Readonly<Record<string, unknown>>): void {
    const { sessionId, mayDecide, openCall, requestPermission, decide } = this.#deps;
    const call = readAsked(payload);
    if (call === undefined) return;
    if (!mayDecide) return this.#tellHow(call);
    const known = openCall(call);
    const callId = known ?? `approval-${call.id}`;
    this.#calls.set(call.id, { callId, isOfTurn: known !== undefined });
    this.#pending.show({
      id: call.id,
      tellHow: () => this.#tellHow(call),
      async ask(signal) {
        const request = permissionRequest(sessionId, callId, call);
        const { outcome } = await requestPermission(request, signal);
        const decision = decisionOf(outcome);
        return decision === undefined ? undefined : () => decide(call, decision);
      },
    });
  }

  #over(id: string, end: AskedEnd): "here" | "elsewhere" | undefined {
    const by = this.#pending.over(id);
    const call = this.#calls.get(id);
    if (by === undefined || call === undefined) return undefined;
    this.#calls.delete(id);
    this.#deps.send(askedEndUpdate(call.callId, end, call.isOfTurn));
    return by;
  }

  #tellHow(call: AskedCall): void {
    this.#deps.note(howToDecide(call, this.#deps.command), "plain");
  }
}
