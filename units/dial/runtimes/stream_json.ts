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
import type { TurnOutcome } from "units/dial/runtimes/driver.ts";
import { decideSafely, namedTool } from "units/dial/runtimes/acp_permission.ts";
import {
  ConversationGone,
  type Dialect,
  type DialectDeps,
  type LineProtocol,
  type Reading,
} from "units/dial/runtimes/line_driver.ts";
import { fieldsOf, type Message, textOf } from "units/dial/runtimes/message.ts";
import { mcpToolOf } from "units/dial/runtimes/mcp_tool_name.ts";
import { createMcpWatch } from "units/dial/runtimes/mcp_watch.ts";
import { createStreamReader } from "units/dial/runtimes/stream_json_updates.ts";
import { failed } from "units/dial/runtimes/turn.ts";

/** Creates the protocol; `random` supplies the ids of control requests. */
export function streamJson(random: Random): LineProtocol {
  return {
    resumeArgs: (sessionId) => ["--resume", sessionId],
    mcpArgs,
    createDialect: (deps) => createDialect(deps, random),
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

interface Waiter {
  readonly resolve: (response: Message) => void;
  readonly reject: (why: Error) => void;
}

function createDialect(deps: DialectDeps, random: Random): Dialect {
  const waiters = new Map<string, Waiter>();
  /** Open questions of the runtime; each is aborted when the runtime withdraws it. */
  const openQuestions = new Map<string, AbortController>();
  const reader = createStreamReader();
  let isOpen = false;
  let isInterrupted = false;

  const mcps = createMcpWatch({
    names: deps.mcps,
    clock: deps.clock,
    onMcps: deps.onMcps,
    ask: () => request({ subtype: "mcp_status" }),
  });

  async function request(body: Message): Promise<Message> {
    const id = random.uuid();
    const answered = Promise.withResolvers<Message>();
    waiters.set(id, answered);
    await deps.send({ type: "control_request", request_id: id, request: body });
    return await answered.promise;
  }

  function readResponse(message: Message): void {
    const response = fieldsOf(message.response);
    const waiter = waiters.get(String(response.request_id));
    waiters.delete(String(response.request_id));
    if (response.subtype === "success") waiter?.resolve(fieldsOf(response.response));
    else waiter?.reject(new Error(textOf(response.error) || "it refused without a reason"));
  }

  async function answer(id: string, response: Message): Promise<void> {
    // If the runtime has withdrawn its question, it waits for no answer.
    if (!openQuestions.delete(id)) return;
    await deps.send({ type: "control_response", response: { request_id: id, ...response } });
  }

  /** Withdraws a question: the runtime no longer waits for its answer. */
  function withdraw(id: string): void {
    const question = openQuestions.get(id);
    openQuestions.delete(id);
    question?.abort();
  }

  async function decide(id: string, ask: Message): Promise<void> {
    const name = textOf(ask.tool_name) || "tool";
    const answered = await decideSafely(deps.decidePermission, {
      callId: textOf(ask.tool_use_id),
      ...namedTool(name, mcpToolOf(name), deps.proxied),
      title: textOf(ask.title) || textOf(ask.description),
      arguments: ask.input,
    }, openQuestions.get(id)?.signal);
    if (answered.decision === "deny") reader.deny(textOf(ask.tool_use_id));
    await answer(id, {
      subtype: "success",
      response: answered.decision === "allow"
        ? { behavior: "allow", updatedInput: fieldsOf(ask.input) }
        : { behavior: "deny", message: answered.reason },
    });
  }

  function readRequest(message: Message): void {
    const id = textOf(message.request_id);
    const body = fieldsOf(message.request);
    openQuestions.set(id, new AbortController());
    if (body.subtype === "can_use_tool") void decide(id, body);
    else void answer(id, { subtype: "error", error: `not supported: ${textOf(body.subtype)}` });
  }

  function readResult(message: Message): Reading {
    const outcome = outcomeOf(message);
    if (!isOpen && deps.sessionId !== undefined && outcome.outcome === "failed") {
      const gone = new ConversationGone(outcome.reason ?? "it does not exist");
      for (const waiter of waiters.values()) waiter.reject(gone);
    }
    const updates = reader.endTurn(textOf(message.result));
    // The runtime's message about an interrupted turn is of no use to the person, so it is dropped.
    const settled = isInterrupted && outcome.outcome === "failed"
      ? { outcome: "cancelled" as const }
      : outcome;
    return outcome.outcome === "completed" ? { updates, outcome } : { outcome: settled };
  }

  return {
    async open(signal) {
      await request({ subtype: "initialize" });
      isOpen = true;
      await mcps.settle(signal);
    },
    prompt(text) {
      isInterrupted = false;
      return deps.send({
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
        // A runtime that refuses to stop is killed after the time limit of the cancel.
      }
    },
    read(message) {
      if (typeof message.session_id === "string" && isOpen) deps.onSession(message.session_id);
      switch (message.type) {
        case "control_response":
          readResponse(message);
          return {};
        case "control_request":
          readRequest(message);
          return {};
        case "control_cancel_request":
          withdraw(textOf(message.request_id));
          return {};
        case "result":
          return readResult(message);
        case "system":
          return {
            updates: message.subtype === "init" ? mcps.onTurn(message) : reader.read(message),
          };
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
    RESULT_CODES[textOf(result.subtype)] ?? "runtime-error",
    reason || "The runtime ended the turn without a reason",
  );
}
