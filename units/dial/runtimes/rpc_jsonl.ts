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

import type { Prompt, TurnOutcome } from "units/dial/runtimes/driver.ts";
import { decideSafely } from "units/dial/runtimes/acp_permission.ts";
import {
  ConversationGone,
  type Dialect,
  type DialectDeps,
  type LineProtocol,
  type Reading,
} from "units/dial/runtimes/line_driver.ts";
import { blocksOf, fieldsOf, type Message, textOf } from "units/dial/runtimes/message.ts";
import { askSafely } from "units/dial/runtimes/question.ts";
import { createRpcDialogs, type RpcDialogs } from "units/dial/runtimes/rpc_jsonl_dialogs.ts";
import { createRpcReader } from "units/dial/runtimes/rpc_jsonl_updates.ts";
import { failed } from "units/dial/runtimes/turn.ts";
import { failureCode } from "units/dial/runtimes/unauthorized.ts";
import { createUsageMeter, readCounts, type TurnUsage } from "units/dial/runtimes/usage.ts";

/** The protocol. A command resumes the conversation, so no argument is added. */
export const RPC_JSONL: LineProtocol = {
  resumeArgs: () => [],
  createDialect: (deps) => new RpcDialect(deps),
};

interface Turn {
  /** How the last run of the model ended. */
  ended: TurnOutcome;
  isCancelled: boolean;
}

/** Handler of the response to a command. */
type Answered = (response: Message) => Reading;

class RpcDialect implements Dialect {
  readonly #deps: DialectDeps;
  readonly #waiting = new Map<string, Answered>();
  readonly #reader = createRpcReader();
  readonly #dialogs: RpcDialogs;
  readonly #usage = createUsageMeter();
  /** Model of the last answer. */
  #model: unknown;
  #turn: Turn | undefined;
  #serial = 0;

  constructor(deps: DialectDeps) {
    this.#deps = deps;
    this.#dialogs = createRpcDialogs({
      send: deps.send,
      proxied: deps.proxied,
      clock: deps.clock,
      isCancelled: () => this.#turn?.isCancelled === true,
      decide: (ask, signal) => decideSafely(deps.decidePermission, ask, signal),
      ask: (form, signal) => askSafely(deps.askQuestion, form, signal),
      onDenied: (callId) => this.#reader.deny(callId),
    });
  }

  async open(): Promise<void> {
    const { sessionId, onSession } = this.#deps;
    if (sessionId !== undefined) {
      const switched = await this.#ask({ type: "switch_session", sessionPath: sessionId });
      if (switched.success !== true || fieldsOf(switched.data).cancelled === true) {
        throw new ConversationGone(textOf(switched.error) || `"${sessionId}" was not opened`);
      }
    }
    const state = await this.#ask({ type: "get_state" });
    if (state.success !== true) throw new Error(textOf(state.error) || "it reports no state");
    const { sessionFile } = fieldsOf(state.data);
    if (typeof sessionFile === "string") onSession(sessionFile);
  }

  async prompt({ text, images = [] }: Omit<Prompt, "turnId">): Promise<void> {
    const begun: Turn = { ended: { outcome: "completed" }, isCancelled: false };
    this.#turn = begun;
    const shown = images.map(({ type, base64 }) => ({
      type: "image",
      data: base64,
      mimeType: type,
    }));
    const prompt = {
      type: "prompt",
      message: text,
      ...(shown.length === 0 ? {} : { images: shown }),
    };
    await this.#command(prompt, (response) => {
      if (this.#turn !== begun) return {};
      if (response.success !== true) return this.#end(begun, refused(response));
      // The runtime handled one of its own commands without the model.
      const isDone = fieldsOf(response.data).disposition === "handled";
      return isDone ? this.#end(begun, { outcome: "completed" }) : {};
    });
  }

  async cancel(): Promise<void> {
    if (this.#turn !== undefined) this.#turn.isCancelled = true;
    // It stops only when no dialog is open.
    await Promise.all([this.#command({ type: "abort" }), this.#dialogs.dismiss()]);
  }

  read(message: Message): Reading {
    if (message.type === "response") return this.#readResponse(message);
    const notices = this.#dialogs.take(message);
    if (notices !== undefined) return { updates: notices };
    this.#readUsage(message);
    return { updates: this.#reader.read(message), ...this.#follow(message) };
  }

  takeUsage(): TurnUsage | undefined {
    return this.#usage.take();
  }

  async #command(message: Message, answered: Answered = () => ({})): Promise<void> {
    const id = `f${++this.#serial}`;
    this.#waiting.set(id, answered);
    await this.#deps.send({ id, ...message });
  }

  #ask(message: Message): Promise<Message> {
    const { promise, resolve } = Promise.withResolvers<Message>();
    void this.#command(message, (response) => {
      resolve(response);
      return {};
    });
    return promise;
  }

  #readResponse(message: Message): Reading {
    const id = textOf(message.id);
    const answered = this.#waiting.get(id);
    this.#waiting.delete(id);
    return answered?.(message) ?? {};
  }

  /** Updates the state of the turn; the reader handles what the event shows. */
  #follow(event: Message): Reading {
    const turn = this.#turn;
    if (turn === undefined) return {};
    if (event.type === "agent_end") turn.ended = outcomeOf(event.messages);
    return event.type === "agent_settled" ? this.#end(turn, turn.ended) : {};
  }

  /** Reads the tokens of one call of the model: of an answer, or of shortening the conversation. */
  #readUsage(event: Message): void {
    const answer = fieldsOf(event.message);
    const isAnswer = event.type === "message_end" && answer.role === "assistant";
    const isShortened = event.type === "compaction_end" && event.result !== undefined;
    if (!isAnswer && !isShortened) return;
    const { usage } = isAnswer ? answer : fieldsOf(event.result);
    if (isAnswer) this.#model = answer.model;
    const { input, output, cacheRead, cacheWrite } = fieldsOf(usage);
    this.#usage.add(
      this.#model,
      readCounts({
        inputTokens: input,
        outputTokens: output,
        cachedReadTokens: cacheRead,
        cachedWriteTokens: cacheWrite,
      }),
    );
  }

  #end(of: Turn, outcome: TurnOutcome): Reading {
    this.#turn = undefined;
    // The runtime's message about an aborted run is of no use to the person, so it is dropped.
    const isAborted = of.isCancelled && outcome.outcome !== "completed";
    return { outcome: isAborted ? { outcome: "cancelled" } : outcome };
  }
}

function refused(response: Message): TurnOutcome {
  const reason = textOf(response.error) || "The runtime did not accept the prompt";
  return failed(failureCode(reason), reason);
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
    case "error": {
      const reason = textOf(last.errorMessage) || "The model call failed";
      return failed(failureCode(reason), reason);
    }
    case "aborted":
      return { outcome: "cancelled" };
    default:
      return { outcome: "completed" };
  }
}
