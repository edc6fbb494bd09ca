/**
 * Dialect of runtimes with a headless mode that streams JSON in both directions
 * (docs/runtime.md#another-runtime). Input: `user` messages. Output: `stream_event`, `assistant`,
 * `user` and `result` messages. Both sides send control requests (`initialize`, `interrupt`,
 * `can_use_tool`) and their responses. Written from the published types of that protocol. Decides
 * nothing about permissions.
 *
 * @module
 */

import type { Random } from "core/ports/random.ts";
import type { Prompt, TurnOutcome } from "units/dial/runtimes/driver.ts";
import { decideSafely } from "units/dial/runtimes/acp_permission.ts";
import {
  ConversationGone,
  type Dialect,
  type DialectDeps,
  type LineProtocol,
  type Reading,
} from "units/dial/runtimes/line_driver.ts";
import { fieldsOf, type Message, textOf } from "units/dial/runtimes/message.ts";
import { createMcpWatch, type McpWatch } from "units/dial/runtimes/mcp_watch.ts";
import { askSafely } from "units/dial/runtimes/question.ts";
import { createStreamAsks, type StreamAsks } from "units/dial/runtimes/stream_json_asks.ts";
import { claudeSettings } from "units/dial/runtimes/claude_settings.ts";
import { createStreamTasks } from "units/dial/runtimes/stream_json_tasks.ts";
import { createStreamTurns } from "units/dial/runtimes/stream_json_turns.ts";
import { createStreamReader } from "units/dial/runtimes/stream_json_updates.ts";
import { createStreamUsage } from "units/dial/runtimes/stream_json_usage.ts";
import { failed } from "units/dial/runtimes/turn.ts";
import { failureCode, UNAUTHORIZED } from "units/dial/runtimes/unauthorized.ts";
import type { TurnUsage } from "units/dial/runtimes/usage.ts";

/** Creates the protocol; `random` supplies the ids of control requests. */
export function streamJson(random: Random): LineProtocol {
  return {
    resumeArgs: (sessionId) => ["--resume", sessionId],
    mcpArgs,
    askArgs,
    isForgetful: (args) => args.includes("--no-session-persistence"),
    createDialect: (deps) => new StreamDialect(deps, random),
  };
}

/**
 * Arguments that pass the MCP entries. The program reads only this file, so neither its working
 * folder nor a project's own file changes its MCPs. It does not ask about calls that the MCP proxy
 * decides.
 */
const mcpArgs: NonNullable<LineProtocol["mcpArgs"]> = ({ args, file }, entries) => {
  // Arguments of the host's own definition take precedence.
  if (args.some((arg) => arg === "--mcp-config" || arg.startsWith("--mcp-config="))) return [];
  const proxied = entries.filter((entry) => entry.isProxied).map(({ name }) => `mcp__${name}`);
  return [
    "--mcp-config",
    file,
    "--strict-mcp-config",
    ...(proxied.length === 0 ? [] : ["--allowedTools", proxied.join(",")]),
  ];
};

/**
 * Arguments with which the program asks about every built-in tool that the mode may ask about. By
 * itself it allows some commands, and everything that the agent's own settings allow.
 */
const askArgs: NonNullable<LineProtocol["askArgs"]> = ({ args, ask }) => {
  const settings = claudeSettings(ask);
  const isGiven = args.some((arg) => arg === "--settings" || arg.startsWith("--settings="));
  if (settings === undefined || isGiven) return [];
  return ["--settings", JSON.stringify(settings)];
};

interface Waiter {
  readonly resolve: (response: Message) => void;
  readonly reject: (why: Error) => void;
}

class StreamDialect implements Dialect {
  readonly #deps: DialectDeps;
  readonly #random: Random;
  readonly #waiters = new Map<string, Waiter>();
  readonly #reader = createStreamReader();
  readonly #tasks = createStreamTasks();
  readonly #turns = createStreamTurns();
  readonly #usage = createStreamUsage();
  readonly #asks: StreamAsks;
  readonly #mcps: McpWatch;
  #isOpen = false;
  #isInterrupted = false;
  /** Whether the interrupt ended only a turn that the program began itself. */
  #interruptsNext = false;
  /** Whether the endpoint did not accept the credential of the running turn. */
  #isUnauthorized = false;

  constructor(deps: DialectDeps, random: Random) {
    this.#deps = deps;
    this.#random = random;
    this.#asks = createStreamAsks({
      send: deps.send,
      proxied: deps.proxied,
      decide: (ask, signal) => decideSafely(deps.decidePermission, ask, signal),
      ask: (form, signal) => askSafely(deps.askQuestion, form, signal),
      onDenied: (callId) => this.#reader.deny(callId),
    });
    this.#mcps = createMcpWatch({
      names: deps.mcps,
      clock: deps.clock,
      onMcps: deps.onMcps,
      ask: () => this.#request({ subtype: "mcp_status" }),
    });
  }

  async open(signal: AbortSignal): Promise<void> {
    await this.#request({ subtype: "initialize" });
    this.#isOpen = true;
    await this.#mcps.settle(signal);
  }

  prompt({ text, images = [] }: Omit<Prompt, "turnId">): Promise<void> {
    this.#isInterrupted = false;
    this.#interruptsNext = false;
    this.#isUnauthorized = false;
    const uuid = this.#random.uuid();
    this.#turns.prompted(uuid);
    const shown = images.map(({ type, base64 }) => ({
      type: "image",
      source: { type: "base64", media_type: type, data: base64 },
    }));
    return this.#deps.send({
      type: "user",
      uuid,
      message: { role: "user", content: [...shown, { type: "text", text }] },
      parent_tool_use_id: null,
    });
  }

  async cancel(): Promise<void> {
    this.#isInterrupted = true;
    this.#interruptsNext = false;
    await this.#interrupt();
  }

  read(message: Message): Reading {
    if (typeof message.session_id === "string" && this.#isOpen) {
      this.#deps.onSession(message.session_id);
    }
    this.#tasks.read(message);
    this.#turns.read(message);
    switch (message.type) {
      case "control_response":
        this.#readResponse(message);
        return {};
      case "control_request":
        return { updates: this.#asks.take(message) };
      case "control_cancel_request":
        this.#asks.withdraw(textOf(message.request_id));
        return {};
      case "result":
        return this.#readResult(message);
      case "system": {
        const isStart = message.subtype === "init";
        if (isStart) this.#deps.onVersion(textOf(message.claude_code_version));
        if (isStart && this.#interruptsNext) void this.cancel();
        if (isRefusedAgain(message)) this.#stopRetries();
        return { updates: isStart ? this.#mcps.onTurn(message) : this.#reader.read(message) };
      }
      default:
        return { updates: this.#reader.read(message) };
    }
  }

  unfinished(): string | undefined {
    return this.#tasks.unfinished();
  }

  takeUsage(): TurnUsage | undefined {
    return this.#usage.take();
  }

  async #interrupt(): Promise<void> {
    try {
      await this.#request({ subtype: "interrupt" });
    } catch {
      // A runtime that refuses to stop is killed after the time limit of the cancel.
    }
  }

  /** Ends the turn. The runtime itself would try for three minutes. */
  #stopRetries(): void {
    if (this.#isUnauthorized) return;
    this.#isUnauthorized = true;
    void this.#interrupt();
  }

  async #request(body: Message): Promise<Message> {
    const id = this.#random.uuid();
    const answered = Promise.withResolvers<Message>();
    this.#waiters.set(id, answered);
    await this.#deps.send({ type: "control_request", request_id: id, request: body });
    return await answered.promise;
  }

  #readResponse(message: Message): void {
    const response = fieldsOf(message.response);
    const waiter = this.#waiters.get(String(response.request_id));
    this.#waiters.delete(String(response.request_id));
    if (response.subtype === "success") waiter?.resolve(fieldsOf(response.response));
    else waiter?.reject(new Error(textOf(response.error) || "it refused without a reason"));
  }

  #readResult(message: Message): Reading {
    this.#usage.read(message);
    if (this.#turns.endsOwn()) {
      // The prompt is still to come, and its turn was cancelled.
      this.#interruptsNext = this.#isInterrupted;
      this.#reader.endTurn("");
      return {};
    }
    const outcome = this.#isUnauthorized && !this.#isInterrupted
      ? orUnauthorized(outcomeOf(message))
      : outcomeOf(message);
    if (!this.#isOpen && this.#deps.sessionId !== undefined && outcome.outcome === "failed") {
      const gone = new ConversationGone(outcome.reason ?? "it does not exist");
      for (const waiter of this.#waiters.values()) waiter.reject(gone);
    }
    const updates = this.#reader.endTurn(textOf(message.result));
    // The runtime's message about an interrupted turn is of no use to the person, so it is dropped.
    const settled = this.#isInterrupted && outcome.outcome === "failed"
      ? { outcome: "cancelled" as const }
      : outcome;
    return outcome.outcome === "completed" ? { updates, outcome } : { outcome: settled };
  }
}

/**
 * Whether the endpoint has refused the credential twice. After the first refusal the runtime may
 * renew a sign-in by itself.
 */
function isRefusedAgain({ subtype, error_status: status, attempt }: Message): boolean {
  return subtype === "api_retry" && (status === 401 || status === 403) && Number(attempt) >= 2;
}

function orUnauthorized(outcome: TurnOutcome): TurnOutcome {
  if (outcome.outcome !== "failed") return outcome;
  return failed(UNAUTHORIZED, "The model endpoint does not accept the key or sign-in of the agent");
}

const RESULT_CODES: Readonly<Record<string, string>> = {
  error_max_turns: "steps-exhausted",
  error_max_budget_usd: "budget-exhausted",
};

function outcomeOf(result: Message): TurnOutcome {
  if (result.subtype === "success" && result.is_error !== true) {
    if (result.stop_reason === "max_tokens") {
      return failed(
        "model-output-limit",
        "The model reached its output limit before the answer was complete",
      );
    }
    return result.stop_reason === "refusal"
      ? failed("model-refusal", "The model refused to continue")
      : { outcome: "completed" };
  }
  const errors = Array.isArray(result.errors)
    ? result.errors.filter((e) => typeof e === "string")
    : [];
  const reason = errors.join("; ") || textOf(result.result) || textOf(result.subtype);
  return failed(
    RESULT_CODES[textOf(result.subtype)] ?? failureCode(reason),
    reason || "The runtime ended the turn without a reason",
  );
}
