/**
 * Dialect of runtimes that are driven by commands, one JSON object per line
 * (docs/runtime.md#another-runtime). Input: `prompt`, `abort`, `get_state`, `switch_session`.
 * Output: a `response` to each, and events. Written from the published description of that
 * protocol.
 *
 * A turn may need several runs of the model: after `agent_end` the runtime may retry, or shorten
 * the conversation and continue. The turn ends with `agent_settled`.
 *
 * @module
 */

import type { TurnOutcome } from "units/dial/runtimes/driver.ts";
import { decideSafely } from "units/dial/runtimes/acp_permission.ts";
import {
  ConversationGone,
  type Dialect,
  type DialectDeps,
  type LineProtocol,
  type Reading,
} from "units/dial/runtimes/line_driver.ts";
import { blocksOf, fieldsOf, type Message, textOf } from "units/dial/runtimes/message.ts";
import { createRpcDialogs } from "units/dial/runtimes/rpc_jsonl_dialogs.ts";
import { createRpcReader } from "units/dial/runtimes/rpc_jsonl_updates.ts";
import { failed } from "units/dial/runtimes/turn.ts";

/** The protocol. A command resumes the conversation, so no argument is added. */
export const RPC_JSONL: LineProtocol = { resumeArgs: () => [], createDialect };

interface Turn {
  /** How the last run of the model ended. */
  ended: TurnOutcome;
  isCancelled: boolean;
}

/** Handler of the response to a command. */
type Answered = (response: Message) => Reading;

function createDialect(deps: DialectDeps): Dialect {
  const waiting = new Map<string, Answered>();
  const reader = createRpcReader();
  const dialogs = createRpcDialogs({
    send: deps.send,
    proxied: deps.proxied,
    decide: (ask, signal) => decideSafely(deps.decidePermission, ask, signal),
    onDenied: (callId) => reader.deny(callId),
  });
  let turn: Turn | undefined;
  let serial = 0;

  async function command(message: Message, answered: Answered = () => ({})): Promise<void> {
    const id = `f${++serial}`;
    waiting.set(id, answered);
    await deps.send({ id, ...message });
  }

  function ask(message: Message): Promise<Message> {
    const { promise, resolve } = Promise.withResolvers<Message>();
    void command(message, (response) => {
      resolve(response);
      return {};
    });
    return promise;
  }

  function end(of: Turn, outcome: TurnOutcome): Reading {
    turn = undefined;
    // The runtime's message about an aborted run is of no use to the person, so it is dropped.
    const isAborted = of.isCancelled && outcome.outcome !== "completed";
    return { outcome: isAborted ? { outcome: "cancelled" } : outcome };
  }

  function readResponse(message: Message): Reading {
    const id = textOf(message.id);
    const answered = waiting.get(id);
    waiting.delete(id);
    return answered?.(message) ?? {};
  }

  /** Updates the state of the turn; `reader` handles what the event shows. */
  function follow(event: Message): Reading {
    if (turn === undefined) return {};
    if (event.type === "agent_end") turn.ended = outcomeOf(event.messages);
    return event.type === "agent_settled" ? end(turn, turn.ended) : {};
  }

  return {
    async open() {
      if (deps.sessionId !== undefined) {
        const sessionPath = deps.sessionId;
        const switched = await ask({ type: "switch_session", sessionPath });
        if (switched.success !== true || fieldsOf(switched.data).cancelled === true) {
          throw new ConversationGone(textOf(switched.error) || `"${sessionPath}" was not opened`);
        }
      }
      const state = await ask({ type: "get_state" });
      if (state.success !== true) throw new Error(textOf(state.error) || "it reports no state");
      const { sessionFile } = fieldsOf(state.data);
      if (typeof sessionFile === "string") deps.onSession(sessionFile);
    },
    async prompt(message) {
      const begun: Turn = { ended: { outcome: "completed" }, isCancelled: false };
      turn = begun;
      await command({ type: "prompt", message }, (response) => {
        if (turn !== begun) return {};
        if (response.success !== true) return end(begun, refused(response));
        // The runtime handled one of its own commands without the model.
        const isDone = fieldsOf(response.data).disposition === "handled";
        return isDone ? end(begun, { outcome: "completed" }) : {};
      });
    },
    async cancel() {
      if (turn !== undefined) turn.isCancelled = true;
      // It stops only when no dialog is open.
      await Promise.all([command({ type: "abort" }), dialogs.dismiss()]);
    },
    read(message) {
      if (message.type === "response") return readResponse(message);
      if (dialogs.take(message)) return {};
      return { updates: reader.read(message), ...follow(message) };
    },
  };
}

function refused(response: Message): TurnOutcome {
  return failed("runtime-error", textOf(response.error) || "The runtime did not accept the prompt");
}

/** Returns how the last answer of the model ended. */
function outcomeOf(messages: unknown): TurnOutcome {
  const last = blocksOf(messages).findLast((message) => message.role === "assistant") ?? {};
  switch (last.stopReason) {
    case "length":
      return failed(
        "model-output-limit",
        "The model reached its output limit before the answer was complete",
      );
    case "error":
      return failed("runtime-error", textOf(last.errorMessage) || "The model call failed");
    case "aborted":
      return { outcome: "cancelled" };
    default:
      return { outcome: "completed" };
  }
}
