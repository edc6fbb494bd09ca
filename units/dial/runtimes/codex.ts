/**
 * Dialect of `codex app-server` (docs/runtime.md#codex): JSON-RPC without its version field, one
 * message per line. A conversation is a thread, `turn/start` begins a turn, notifications report
 * its items, `turn/completed` ends it. Decides nothing about permissions. The program does not tell
 * the model why something was denied, so the reason precedes the text of the next turn.
 *
 * @module
 */

import type { TurnOutcome } from "units/dial/runtimes/driver.ts";
import { decideSafely } from "units/dial/runtimes/acp_permission.ts";
import { createCodexAsks } from "units/dial/runtimes/codex_asks.ts";
import { createItemReader, errorOf } from "units/dial/runtimes/codex_items.ts";
import { refusedParameter, threadParams } from "units/dial/runtimes/codex_thread.ts";
import {
  ConversationGone,
  type Dialect,
  type DialectDeps,
  type LineProtocol,
  type Reading,
} from "units/dial/runtimes/line_driver.ts";
import { createMcpWatch } from "units/dial/runtimes/mcp_watch.ts";
import { fieldsOf, type Message, textOf } from "units/dial/runtimes/message.ts";
import { failed } from "units/dial/runtimes/turn.ts";
import { createPendingDenials, type PendingDenials } from "units/dial/runtimes/pending_denials.ts";

/** Creates the protocol of one agent. A request resumes the thread, so no argument is added. */
export function codexAppServer(): LineProtocol {
  // Kept across restarts: these are denials that the model has not seen yet.
  const denials = createPendingDenials();
  return { resumeArgs: () => [], createDialect: (deps) => createDialect(deps, denials) };
}

interface Turn {
  /** Unknown until the program has accepted the prompt. */
  id: string | undefined;
  isStarted: boolean;
  isCancelled: boolean;
}

/** Handler of the response to a request. */
type Answered = (response: Message) => Reading;

/** The program's errors for a thread that does not exist. */
const NO_THREAD = /no rollout found|thread not found|invalid (session|thread) id/i;
/** The program's names for the states of an MCP server. */
const MCP_STATES: Readonly<Record<string, string>> = { starting: "pending", ready: "connected" };

function createDialect(deps: DialectDeps, denials: PendingDenials): Dialect {
  const waiting = new Map<unknown, Answered>();
  const items = createItemReader();
  const mcpStates = new Map(deps.mcps.map((name) => [name, "pending"]));
  const servers = () => [...mcpStates].map(([name, status]) => ({ name, status }));
  const mcps = createMcpWatch({
    names: deps.mcps,
    clock: deps.clock,
    onMcps: deps.onMcps,
    ask: () => Promise.resolve({ mcpServers: servers() }),
  });
  const asks = createCodexAsks({
    send: deps.send,
    proxied: deps.proxied,
    decide: (ask, signal) => decideSafely(deps.decidePermission, ask, signal),
    onDenied(callId, reason) {
      items.deny(callId);
      if (turn?.isCancelled === false) denials.add(reason);
    },
  });
  let thread = "";
  let turn: Turn | undefined;
  let serial = 0;

  async function request(method: string, params: Message, answered: Answered): Promise<void> {
    const id = ++serial;
    waiting.set(id, answered);
    await deps.send({ id, method, params });
  }

  async function ask(method: string, params: Message): Promise<Message> {
    const { promise, resolve, reject } = Promise.withResolvers<Message>();
    await request(method, params, (response) => {
      if (response.error === undefined) resolve(fieldsOf(response.result));
      else reject(new Error(errorOf(response.error) || `it refused ${method} without a reason`));
      return {};
    });
    return await promise;
  }

  async function openThread(params: Message): Promise<Message> {
    const { sessionId } = deps;
    if (sessionId === undefined) return await ask("thread/start", params);
    try {
      return await ask("thread/resume", { threadId: sessionId, excludeTurns: true, ...params });
    } catch (error) {
      const { message } = error as Error;
      throw NO_THREAD.test(message) ? new ConversationGone(message) : error;
    }
  }

  function end(outcome: TurnOutcome): Reading {
    turn = undefined;
    items.endTurn();
    if (outcome.outcome !== "failed") denials.delivered();
    return { outcome };
  }

  /** Interrupts a started turn. Before `turn/started`, the program has nothing to interrupt. */
  async function interrupt(of: Turn): Promise<void> {
    if (!of.isStarted) return;
    await request("turn/interrupt", { threadId: thread, turnId: of.id }, () => ({}));
  }

  function begin(of: Turn): Reading {
    of.isStarted = true;
    // The program writes a thread to disk only with its first turn, so its id is stored now.
    deps.onSession(thread);
    if (of.isCancelled) void interrupt(of);
    return { updates: mcps.onTurn({ mcp_servers: servers() }) };
  }

  function readNotification(method: string, params: Message): Reading {
    if (method === "mcpServer/startupStatus/updated") readMcpState(params);
    if (method === "serverRequest/resolved") asks.withdraw(params.requestId);
    if (method.startsWith("item/")) asks.onItem(method, fieldsOf(params.item));
    if (turn === undefined || params.threadId !== thread) return {};
    // The program may run turns by itself; they do not belong to the prompt that was sent.
    const reported = fieldsOf(params.turn);
    if (turn.id === undefined || turn.id !== (reported.id ?? params.turnId)) return {};
    if (method === "turn/started") return begin(turn);
    if (method === "turn/completed") return end(outcomeOf(reported));
    return { updates: items.read(method, params) };
  }

  function readMcpState({ name, status, failureReason }: Message): void {
    if (!mcpStates.has(textOf(name))) return;
    const state = failureReason === "reauthenticationRequired"
      ? "needs-auth"
      : MCP_STATES[textOf(status)] ?? "failed";
    mcpStates.set(textOf(name), state);
    mcps.report(servers());
  }

  return {
    async open(signal) {
      await ask("initialize", {
        clientInfo: { name: "fleetctl", title: "fleetctl", version: "0.1.0" },
        capabilities: { experimentalApi: false, requestAttestation: false },
      });
      await deps.send({ method: "initialized" });
      const opened = await openThread(threadParams(deps));
      const why = refusedParameter(opened, deps);
      if (why !== undefined) throw new Error(why);
      thread = textOf(fieldsOf(opened.thread).id);
      if (thread === "") throw new Error("it reports no thread");
      await mcps.settle(signal);
    },
    async prompt(text) {
      const begun: Turn = { id: undefined, isStarted: false, isCancelled: false };
      turn = begun;
      const fullText = [...denials.take(), text].join("\n\n");
      const input = [{ type: "text", text: fullText }];
      await request("turn/start", { threadId: thread, input }, ({ result, error }) => {
        if (turn !== begun) return {};
        const id = textOf(fieldsOf(fieldsOf(result).turn).id);
        if (id === "") {
          return end(
            failed("runtime-error", errorOf(error) || "The runtime did not accept the prompt"),
          );
        }
        begun.id = id;
        return {};
      });
    },
    async cancel() {
      if (turn === undefined) return;
      turn.isCancelled = true;
      await interrupt(turn);
    },
    read(message) {
      const { id, method } = message;
      if (typeof method !== "string") {
        const answered = waiting.get(id);
        waiting.delete(id);
        return answered?.(message) ?? {};
      }
      if (id !== undefined) return { updates: asks.take(message) };
      return readNotification(method, fieldsOf(message.params));
    },
  };
}

const CODES: Readonly<Record<string, string>> = {
  unauthorized: "model-unauthorized",
  modelNotFound: "model-not-found",
  rateLimitExceeded: "model-rate-limited",
  usageLimitExceeded: "model-quota-exhausted",
  serverOverloaded: "model-overloaded",
  internalServerError: "model-overloaded",
  contextWindowExceeded: "model-context-exceeded",
  badRequest: "model-request-refused",
  httpConnectionFailed: "model-unreachable",
  responseStreamConnectionFailed: "model-unreachable",
  responseStreamDisconnected: "model-stream-cut",
  responseTooManyFailedAttempts: "model-overloaded",
};

function outcomeOf({ status, error }: Message): TurnOutcome {
  if (status === "completed") return { outcome: "completed" };
  if (status === "interrupted") return { outcome: "cancelled" };
  const { codexErrorInfo: info } = fieldsOf(error);
  const [kind = ""] = typeof info === "string" ? [info] : Object.keys(fieldsOf(info));
  const isUnauthorized = [401, 403].includes(Number(fieldsOf(fieldsOf(info)[kind]).httpStatusCode));
  const code = isUnauthorized ? "model-unauthorized" : CODES[kind] ?? "runtime-error";
  return failed(code, errorOf(error) || "The runtime ended the turn without a reason");
}
