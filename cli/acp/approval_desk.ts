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
import type { NoteWeight } from "cli/acp/turn_view.ts";
import type { TurnUpdate } from "cli/ask_turn.ts";
import { errorText } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Result } from "core/result.ts";

/** Handles the approvals of one turn. */
export interface ApprovalDesk {
  /** Takes an event; never waits for a person. */
  take(update: TurnUpdate): void;
  /** Closes the open questions in the editor, without a decision. */
  close(): void;
}

/** What the desk needs. */
export interface DeskDeps {
  readonly sessionId: string;
  /** Whether the caller of this program may decide. */
  readonly mayDecide: boolean;
  /** Returns the id under which the editor shows the call. */
  openCall(call: AskedCall): string | undefined;
  readonly clock: Pick<Clock, "after">;
  /** Whether the editor has cancelled the turn. */
  isCancelled(): boolean;
  /** Asks the editor; aborting `signal` withdraws the request. */
  request(
    request: RequestPermissionRequest,
    signal: AbortSignal,
  ): Promise<RequestPermissionResponse>;
  /** Sends the decision to the dial unit. */
  decide(call: AskedCall, decision: Decision): Promise<Result<unknown>>;
  send(update: SessionUpdate): void;
  note(text: string, weight: NoteWeight): void;
  /** Returns a command as it must be typed here. */
  command(line: string): string;
}

/** Time in which a cancel may follow an answer without a decision. */
const UNDECIDED_MS = 1_000;

interface OpenQuestion {
  readonly call: AskedCall;
  readonly callId: string;
  readonly isOfTurn: boolean;
  /** Aborted when the question is over. */
  readonly over: AbortController;
  /** Whether this editor's decision is on its way, or has counted. */
  isOurs: boolean;
}

/** Creates the desk of a turn that begins. */
export function createApprovalDesk(deps: DeskDeps): ApprovalDesk {
  return new Desk(deps);
}

class Desk implements ApprovalDesk {
  readonly #deps: DeskDeps;
  readonly #open = new Map<string, OpenQuestion>();

  constructor(deps: DeskDeps) {
    this.#deps = deps;
  }

  take(update: TurnUpdate): void {
    if (update.type !== "turn_event") return;
    const { kind, payload } = update;
    const id = String(payload.approval_id);
    if (kind === "approval_asked") this.#asked(payload);
    if (kind === "approval_decided") {
      this.#decided(id, payload.decision === "approved" ? "approved" : "denied", payload);
    }
    const state = payload.state;
    if (kind === "approval_ended" && (state === "expired" || state === "superseded")) {
      const question = this.#over(id, state);
      if (question === undefined || state === "superseded") return;
      this.#deps.note("No decision was made in time, so the call was denied.", "aside");
    }
  }

  close(): void {
    for (const id of [...this.#open.keys()]) this.#over(id, "superseded");
  }

  #asked(payload: Readonly<Record<string, unknown>>): void {
    const { mayDecide, openCall } = this.#deps;
    const call = readAsked(payload);
    if (call === undefined) return;
    if (!mayDecide) return this.#tellHow(call);
    const known = openCall(call);
    const question: OpenQuestion = {
      call,
      callId: known ?? `approval-${call.id}`,
      isOfTurn: known !== undefined,
      over: new AbortController(),
      isOurs: false,
    };
    this.#open.set(call.id, question);
    void this.#ask(question);
  }

  /** Never rejects: an editor that cannot ask gets the sentence that says how to decide. */
  async #ask(question: OpenQuestion): Promise<void> {
    const { sessionId, request, decide, note } = this.#deps;
    const { call, callId, over } = question;
    try {
      const { outcome } = await request(permissionRequest(sessionId, callId, call), over.signal);
      if (over.signal.aborted) return;
      const decision = decisionOf(outcome);
      if (decision === undefined) return this.#undecided(question);
      question.isOurs = true;
      const sent = await decide(call, decision);
      if (!sent.ok) note(sent.error.message, "plain");
    } catch (thrown) {
      if (over.signal.aborted) return;
      note(`This editor did not ask: ${errorText(thrown)}`, "aside");
      this.#tellHow(call);
    }
  }

  /**
   * An editor that cancels a turn also answers its questions without a decision, in any order. So a
   * moment passes before the editor shows where else to decide.
   */
  #undecided({ call, over }: OpenQuestion): void {
    const { clock, isCancelled } = this.#deps;
    const forget = clock.after(UNDECIDED_MS, () => {
      if (!isCancelled()) this.#tellHow(call);
    });
    over.signal.addEventListener("abort", forget, { once: true });
  }

  #decided(id: string, decision: Decision, { by }: Readonly<Record<string, unknown>>): void {
    const question = this.#over(id, decision);
    if (question === undefined || question.isOurs) return;
    this.#deps.note(`The call was ${decision} by ${String(by)}.`, "aside");
  }

  #over(id: string, end: AskedEnd): OpenQuestion | undefined {
    const question = this.#open.get(id);
    if (question === undefined) return undefined;
    this.#open.delete(id);
    question.over.abort();
    this.#deps.send(askedEndUpdate(question.callId, end, question.isOfTurn));
    return question;
  }

  #tellHow(call: AskedCall): void {
    this.#deps.note(howToDecide(call, this.#deps.command), "plain");
  }
}
