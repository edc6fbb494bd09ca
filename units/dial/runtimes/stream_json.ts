/**
 * Dialect of runtimes with a headless mode that streams JSON both ways (docs/runtime.md, "Another
 * runtime"): `user` messages in, `stream_event`, `assistant`, `user` and `result` messages out, and
 * control requests of either side (`initialize`, `interrupt`, `can_use_tool`) with their responses.
 * Written from the published types of that protocol. Decides nothing about permissions.
 *
 * @module
 */

import type { Random } from "core/ports.ts";
import type { TurnOutcome } from "core/runtimes/driver.ts";
import {
  ConversationGone,
  type Dialect,
  type DialectParts,
  type LineProtocol,
  type Reading,
} from "core/runtimes/drivers/line_driver.ts";
import { fieldsOf, type Message, textOf } from "core/runtimes/drivers/message.ts";
import { createStreamReader } from "core/runtimes/drivers/stream_json_updates.ts";
import { failed } from "core/runtimes/drivers/turn.ts";

/** Creates the protocol; `random` names control requests. */
export function streamJson(random: Random): LineProtocol {
  return {
    resumeArgs: (sessionId) => ["--resume", sessionId],
    createDialect: (parts) => createDialect(parts, random),
  };
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (why: Error) => void;
}

function createDialect(parts: DialectParts, random: Random): Dialect {
  const waiters = new Map<string, Waiter>();
  /** Questions of the runtime that are not answered yet. */
  const asked = new Set<string>();
  const reader = createStreamReader();
  let isOpen = false;
  let isInterrupted = false;

  async function request(body: Message): Promise<void> {
    const id = random.uuid();
    const answered = Promise.withResolvers<void>();
    waiters.set(id, answered);
    await parts.send({ type: "control_request", request_id: id, request: body });
    await answered.promise;
  }

  function readResponse(message: Message): void {
    const response = fieldsOf(message.response);
    const waiter = waiters.get(String(response.request_id));
    waiters.delete(String(response.request_id));
    if (response.subtype === "success") waiter?.resolve();
    else waiter?.reject(new Error(textOf(response.error) || "it refused without a reason"));
  }

  async function answer(id: string, response: Message): Promise<void> {
    // The runtime may have taken its question back, and then waits for nothing.
    if (!asked.delete(id)) return;
    await parts.send({ type: "control_response", response: { request_id: id, ...response } });
  }

  async function decide(id: string, ask: Message): Promise<void> {
    const tool = textOf(ask.tool_name) || "tool";
    let allowed = false;
    try {
      allowed = await parts.decidePermission?.({
        callId: textOf(ask.tool_use_id),
        tool,
        title: textOf(ask.title) || textOf(ask.description),
        arguments: ask.input,
      }) === "allow";
    } catch {
      // Errors deny (decision 13); the decider reports its own faults.
    }
    if (!allowed) reader.deny(textOf(ask.tool_use_id));
    await answer(id, {
      subtype: "success",
      response: allowed
        ? { behavior: "allow", updatedInput: fieldsOf(ask.input) }
        : { behavior: "deny", message: `Not allowed: ${tool}` },
    });
  }

  function readRequest(message: Message): void {
    const id = textOf(message.request_id);
    const body = fieldsOf(message.request);
    asked.add(id);
    if (body.subtype === "can_use_tool") void decide(id, body);
    else void answer(id, { subtype: "error", error: `not supported: ${textOf(body.subtype)}` });
  }

  function readResult(message: Message): Reading {
    const outcome = outcomeOf(message);
    if (!isOpen && parts.sessionId !== undefined && outcome.outcome === "failed") {
      const gone = new ConversationGone(outcome.reason ?? "it is not there");
      for (const waiter of waiters.values()) waiter.reject(gone);
    }
    const updates = reader.endTurn(textOf(message.result));
    // What it says of an interrupted turn is for its own makers.
    const settled = isInterrupted && outcome.outcome === "failed"
      ? { outcome: "cancelled" as const }
      : outcome;
    return outcome.outcome === "completed" ? { updates, outcome } : { outcome: settled };
  }

  return {
    async open() {
      await request({ subtype: "initialize" });
      isOpen = true;
    },
    prompt(text) {
      isInterrupted = false;
      return parts.send({
        type: "user",
        message: { role: "user", content: [{ type: "text", text }] },
        parent_tool_use_id: null,
      });
    },
    async cancel() {
      isInterrupted = true;
      try {
        await request({ subtype: "interrupt" });
      } catch {
        // A runtime that refuses to stop is killed when the time of the cancel is over.
      }
    },
    read(message) {
      if (typeof message.session_id === "string" && isOpen) parts.onSession(message.session_id);
      switch (message.type) {
        case "control_response":
          readResponse(message);
          return {};
        case "control_request":
          readRequest(message);
          return {};
        case "control_cancel_request":
          asked.delete(textOf(message.request_id));
          return {};
        case "result":
          return readResult(message);
        default:
          return { updates: reader.read(message) };
      }
    },
  };
}

const RESULT_CODES: Readonly<Record<string, string>> = {
  error_max_turns: "steps-exhausted",
  error_max_budget_usd: "budget-exhausted",
};

function outcomeOf(result: Message): TurnOutcome {
  if (result.subtype === "success" && result.is_error !== true) {
    if (result.stop_reason === "max_tokens") {
      return failed("model-output-limit", "The model reached its output limit in mid-answer");
    }
    return result.stop_reason === "refusal"
      ? failed("model-refusal", "The model refused to go on")
      : { outcome: "completed" };
  }
  const errors = Array.isArray(result.errors)
    ? result.errors.filter((e) => typeof e === "string")
    : [];
  const reason = errors.join("; ") || textOf(result.result) || textOf(result.subtype);
  return failed(
    RESULT_CODES[textOf(result.subtype)] ?? "runtime-error",
    reason || "The runtime ended the turn without a reason",
  );
}
