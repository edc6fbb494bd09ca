/**
 * Dialect of `codex app-server` (docs/runtime.md#codex): JSON-RPC without its version field, one
 * message per line. A conversation is a thread, `turn/start` begins a turn, notifications report
 * its items, `turn/completed` ends it. Decides nothing about permissions. The program does not tell
 * the model why something was denied, so the reason precedes the text of the next turn.
 *
 * @module
 */

import type { Prompt, TurnOutcome } from "units/dial/runtimes/driver.ts";
import { decideSafely } from "units/dial/runtimes/acp_permission.ts";
import { type CodexAsks, createCodexAsks } from "units/dial/runtimes/codex_asks.ts";
import { createItemReader, errorOf } from "units/dial/runtimes/codex_items.ts";
import { refusedParameter, threadParams } from "units/dial/runtimes/codex_thread.ts";
import { createCodexUsage } from "units/dial/runtimes/codex_usage.ts";
import {
  ConversationGone,
  type Dialect,
  type DialectDeps,
  type LineProtocol,
  type Reading,
} from "units/dial/runtimes/line_driver.ts";
import { createMcpWatch, type McpWatch } from "units/dial/runtimes/mcp_watch.ts";
import { fieldsOf, type Message, textOf } from "units/dial/runtimes/message.ts";
import { askSafely } from "units/dial/runtimes/question.ts";
import { failed } from "units/dial/runtimes/turn.ts";
import type { TurnUsage } from "units/dial/runtimes/usage.ts";
import { createPendingDenials, type PendingDenials } from "units/dial/runtimes/pending_denials.ts";

/** Creates the protocol of one agent. A request resumes the thread, so no argument is added. */
export function codexAppServer(): LineProtocol {
  // Kept across restarts: these are denials that the model has not seen yet.
  const denials = createPendingDenials();
  return { resumeArgs: () => [], createDialect: (deps) => new CodexDialect(deps, denials) };
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

class CodexDialect implements Dialect {
  readonly #deps: DialectDeps;
  readonly #denials: PendingDenials;
  readonly #waiting = new Map<unknown, Answered>();
  readonly #items = createItemReader();
  readonly #usage = createCodexUsage();
  readonly #mcpStates: Map<string, string>;
  readonly #mcps: McpWatch;
  readonly #asks: CodexAsks;
  #thread = "";
  #turn: Turn | undefined;
  #serial = 0;

  constructor(deps: DialectDeps, denials: PendingDenials) {
    this.#deps = deps;
    this.#denials = denials;
    this.#mcpStates = new Map(deps.mcps.map((name) => [name, "pending"]));
    this.#mcps = createMcpWatch({
      names: deps.mcps,
      clock: deps.clock,
      onMcps: deps.onMcps,
      ask: () => Promise.resolve({ mcpServers: this.#servers() }),
    });
    this.#asks = createCodexAsks({
      send: deps.send,
      proxied: deps.proxied,
      decide: (ask, signal) => decideSafely(deps.decidePermission, ask, signal),
      ask: (form, signal) => askSafely(deps.askQuestion, form, signal),
      onDenied: (callId, reason) => {
        this.#items.deny(callId);
        if (this.#turn?.isCancelled === false) denials.add(reason);
      },
    });
  }

  async open(signal: AbortSignal): Promise<void> {
    const peer = await this.#ask("initialize", {
      clientInfo: { name: "fleetctl", title: "fleetctl", version: "0.1.0" },
      capabilities: { experimentalApi: false, requestAttestation: false },
    });
    this.#deps.onVersion(versionOf(textOf(peer.userAgent)));
    await this.#deps.send({ method: "initialized" });
    const opened = await this.#openThread(threadParams(this.#deps));
    const why = refusedParameter(opened, this.#deps);
    if (why !== undefined) throw new Error(why);
    this.#thread = textOf(fieldsOf(opened.thread).id);
    this.#usage.use(opened.model);
    if (this.#thread === "") throw new Error("it reports no thread");
    await this.#mcps.settle(signal);
  }

  async prompt({ text, images = [] }: Omit<Prompt, "turnId">): Promise<void> {
    const begun: Turn = { id: undefined, isStarted: false, isCancelled: false };
    this.#turn = begun;
    const fullText = [...this.#denials.take(), text].join("\n\n");
    const shown = images.map(({ path }) => ({ type: "localImage", path }));
    const input = [{ type: "text", text: fullText }, ...shown];
    const params = { threadId: this.#thread, input };
    await this.#request("turn/start", params, ({ result, error }) => {
      if (this.#turn !== begun) return {};
      const id = textOf(fieldsOf(fieldsOf(result).turn).id);
      if (id === "") {
        return this.#end(
          failed("runtime-error", errorOf(error) || "The runtime did not accept the prompt"),
        );
      }
      begun.id = id;
      return {};
    });
  }

  async cancel(): Promise<void> {
    if (this.#turn === undefined) return;
    this.#turn.isCancelled = true;
    await this.#interrupt(this.#turn);
  }

  read(message: Message): Reading {
    const { id, method } = message;
    if (typeof method !== "string") {
      const answered = this.#waiting.get(id);
      this.#waiting.delete(id);
      return answered?.(message) ?? {};
    }
    if (id !== undefined) return { updates: this.#asks.take(message) };
    return this.#readNotification(method, fieldsOf(message.params));
  }

  takeUsage(): TurnUsage | undefined {
    return this.#usage.take();
  }

  async #request(method: string, params: Message, answered: Answered): Promise<void> {
    const id = ++this.#serial;
    this.#waiting.set(id, answered);
    await this.#deps.send({ id, method, params });
  }

  async #ask(method: string, params: Message): Promise<Message> {
    const { promise, resolve, reject } = Promise.withResolvers<Message>();
    await this.#request(method, params, (response) => {
      if (response.error === undefined) resolve(fieldsOf(response.result));
      else reject(new Error(errorOf(response.error) || `it refused ${method} without a reason`));
      return {};
    });
    return await promise;
  }

  async #openThread(params: Message): Promise<Message> {
    const { sessionId } = this.#deps;
    if (sessionId === undefined) return await this.#ask("thread/start", params);
    try {
      const resumed = { threadId: sessionId, excludeTurns: true, ...params };
      return await this.#ask("thread/resume", resumed);
    } catch (error) {
      const { message } = error as Error;
      throw NO_THREAD.test(message) ? new ConversationGone(message) : error;
    }
  }

  #readNotification(method: string, params: Message): Reading {
    if (method === "mcpServer/startupStatus/updated") this.#readMcpState(params);
    if (method === "serverRequest/resolved") this.#asks.withdraw(params.requestId);
    if (method.startsWith("item/")) this.#asks.onItem(method, fieldsOf(params.item));
    const turn = this.#turn;
    if (method === "thread/tokenUsage/updated") this.#readUsage(params);
    if (turn === undefined || params.threadId !== this.#thread) return {};
    // The program may run turns by itself; they do not belong to the prompt that was sent.
    const reported = fieldsOf(params.turn);
    if (turn.id === undefined || turn.id !== (reported.id ?? params.turnId)) return {};
    if (method === "turn/started") return this.#begin(turn);
    if (method === "model/rerouted") this.#usage.use(params.toModel);
    if (method === "turn/completed") return this.#end(outcomeOf(reported));
    return { updates: this.#items.read(method, params) };
  }

  /** Reads the counters of the thread; after a resume they come before the thread is known. */
  #readUsage({ threadId, turnId, tokenUsage }: Message): void {
    const thread = this.#thread === "" ? this.#deps.sessionId : this.#thread;
    if (threadId !== thread) return;
    this.#usage.read(tokenUsage, turnId !== undefined && turnId === this.#turn?.id);
  }

  #readMcpState({ name, status, failureReason }: Message): void {
    if (!this.#mcpStates.has(textOf(name))) return;
    const state = failureReason === "reauthenticationRequired"
      ? "needs-auth"
      : MCP_STATES[textOf(status)] ?? "failed";
    this.#mcpStates.set(textOf(name), state);
    this.#mcps.report(this.#servers());
  }

  #servers(): readonly Message[] {
    return [...this.#mcpStates].map(([name, status]) => ({ name, status }));
  }

  #begin(of: Turn): Reading {
    of.isStarted = true;
    // The program writes a thread to disk only with its first turn, so its id is stored now.
    this.#deps.onSession(this.#thread);
    if (of.isCancelled) void this.#interrupt(of);
    return { updates: this.#mcps.onTurn({ mcp_servers: this.#servers() }) };
  }

  /** Interrupts a started turn. Before `turn/started`, the program has nothing to interrupt. */
  async #interrupt(of: Turn): Promise<void> {
    if (!of.isStarted) return;
    await this.#request("turn/interrupt", { threadId: this.#thread, turnId: of.id }, () => ({}));
  }

  #end(outcome: TurnOutcome): Reading {
    this.#turn = undefined;
    this.#items.endTurn();
    if (outcome.outcome !== "failed") this.#denials.delivered();
    return { outcome };
  }
}

/** Returns the version in `fleetctl/0.169.0 (Debian …) …`: the client's name, then the program's. */
function versionOf(userAgent: string): string {
  return /^[^/\s]*\/(\S+)/.exec(userAgent)?.[1] ?? "";
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
