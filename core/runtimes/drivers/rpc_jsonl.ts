/**
 * Dialect of runtimes that are driven by commands, one JSON object per line (docs/runtime.md,
 * "Another runtime"): `prompt`, `abort`, `get_state`, `switch_session` in; a `response` to each and
 * events out. Written from the published description of that protocol.
 *
 * The end of a turn is not one message: after `agent_end` such a runtime may try again or shorten
 * the conversation and go on. So the state is asked for, and the turn is over when nothing of that
 * was told before the answer.
 *
 * @module
 */

import type { TurnOutcome } from "core/runtimes/driver.ts";
import {
  ConversationGone,
  type Dialect,
  type DialectParts,
  type LineProtocol,
  type Reading,
} from "core/runtimes/drivers/line_driver.ts";
import { blocksOf, fieldsOf, type Message, textOf } from "core/runtimes/drivers/message.ts";
import { readRpcEvent } from "core/runtimes/drivers/rpc_jsonl_updates.ts";
import { failed } from "core/runtimes/drivers/turn.ts";

/** The protocol. The conversation is taken up by a command, so no argument is added. */
export const RPC_JSONL: LineProtocol = { resumeArgs: () => [], createDialect };

interface Turn {
  /** Whether the model has been asked; a command of the runtime itself is done without. */
  hasBegun: boolean;
  /** How the turn ends if nothing follows. */
  pending: TurnOutcome | undefined;
  /** Whether the runtime tries again or shortens the conversation. */
  isHeld: boolean;
}

/** What is done with the answer to a command. */
type Answered = (response: Message) => Reading;

function createDialect(parts: DialectParts): Dialect {
  const waiting = new Map<string, Answered>();
  let turn: Turn | undefined;
  let serial = 0;

  async function command(message: Message, answered: Answered = () => ({})): Promise<void> {
    const id = `f${++serial}`;
    waiting.set(id, answered);
    await parts.send({ id, ...message });
  }

  function ask(message: Message): Promise<Message> {
    const { promise, resolve } = Promise.withResolvers<Message>();
    void command(message, (response) => {
      resolve(response);
      return {};
    });
    return promise;
  }

  function end(outcome: TurnOutcome | undefined): Reading {
    if (outcome === undefined) return {};
    turn = undefined;
    return { outcome };
  }

  /** Asks whether anything follows; what follows is told before the answer. */
  function probe(asked: Turn): void {
    void command({ type: "get_state" }, (response) => {
      const state = fieldsOf(response.data);
      keepSession(state);
      if (turn !== asked || asked.isHeld || state.isStreaming === true) return {};
      return end(asked.hasBegun ? asked.pending : { outcome: "completed" });
    });
  }

  function keepSession(state: Message): void {
    if (typeof state.sessionFile === "string") parts.onSession(state.sessionFile);
  }

  function readResponse(message: Message): Reading {
    const id = textOf(message.id);
    const answered = waiting.get(id);
    waiting.delete(id);
    return answered?.(message) ?? {};
  }

  /** Follows the end of the turn; what the event shows is read elsewhere. */
  function follow(event: Message): Reading {
    if (turn === undefined) return {};
    switch (event.type) {
      case "agent_start":
        turn.hasBegun = true;
        turn.isHeld = false;
        turn.pending = undefined;
        return {};
      case "agent_end":
        turn.pending = outcomeOf(event.messages);
        probe(turn);
        return {};
      case "auto_retry_start":
      case "compaction_start":
        turn.isHeld = true;
        return {};
      case "auto_retry_end":
        turn.isHeld = false;
        return event.success === true ? {} : end(turn.pending);
      case "compaction_end":
        turn.isHeld = event.willRetry === true;
        return turn.isHeld ? {} : end(turn.pending);
      default:
        return {};
    }
  }

  async function answerDialog(request: Message): Promise<void> {
    const id = textOf(request.id);
    // A person who could choose or type is not here; a question of yes or no can be decided.
    const answer = request.method === "confirm"
      ? { confirmed: await isAllowed(request) }
      : { cancelled: true };
    await parts.send({ type: "extension_ui_response", id, ...answer });
  }

  async function isAllowed(request: Message): Promise<boolean> {
    const title = textOf(request.title);
    try {
      return await parts.decidePermission?.({
        callId: textOf(request.id),
        tool: title || "confirm",
        title,
        arguments: { message: textOf(request.message) },
      }) === "allow";
    } catch {
      // Errors deny (decision 13); the decider reports its own faults.
      return false;
    }
  }

  return {
    async open() {
      if (parts.sessionId !== undefined) {
        const sessionPath = parts.sessionId;
        const switched = await ask({ type: "switch_session", sessionPath });
        if (switched.success !== true || fieldsOf(switched.data).cancelled === true) {
          throw new ConversationGone(textOf(switched.error) || `"${sessionPath}" was not opened`);
        }
      }
      const state = await ask({ type: "get_state" });
      if (state.success !== true) throw new Error(textOf(state.error) || "it tells no state");
      keepSession(fieldsOf(state.data));
    },
    async prompt(message) {
      const begun: Turn = { hasBegun: false, pending: undefined, isHeld: false };
      turn = begun;
      await command({ type: "prompt", message }, (response) => {
        if (turn !== begun) return {};
        if (response.success !== true) return end(refused(response));
        probe(begun);
        return {};
      });
    },
    cancel: () => command({ type: "abort" }),
    read(message) {
      if (message.type === "response") return readResponse(message);
      if (message.type === "extension_ui_request" && DIALOGS.has(textOf(message.method))) {
        void answerDialog(message);
        return {};
      }
      return { updates: readRpcEvent(message), ...follow(message) };
    },
  };
}

/** Requests that wait for an answer; the others only show something. */
const DIALOGS: ReadonlySet<string> = new Set(["select", "confirm", "input", "editor"]);

function refused(response: Message): TurnOutcome {
  return failed("runtime-error", textOf(response.error) || "The runtime took no prompt");
}

/** How the last answer of the model ended. */
function outcomeOf(messages: unknown): TurnOutcome {
  const last = blocksOf(messages).findLast((message) => message.role === "assistant") ?? {};
  switch (last.stopReason) {
    case "length":
      return failed("model-output-limit", "The model reached its output limit in mid-answer");
    case "error":
      return failed("runtime-error", textOf(last.errorMessage) || "The model call failed");
    case "aborted":
      return { outcome: "cancelled" };
    default:
      return { outcome: "completed" };
  }
}
