/**
 * Control requests of a streaming runtime to its client. `can_use_tool` is a question for the gate;
 * other requests are answered with an error.
 *
 * @module
 */

import {
  namedTool,
  type PermissionAnswer,
  type PermissionAsk,
} from "units/dial/runtimes/acp_permission.ts";
import { mcpToolOf } from "units/dial/runtimes/mcp_tool_name.ts";
import { fieldsOf, type Message, textOf } from "units/dial/runtimes/message.ts";

/** The open questions of one process. */
export interface StreamAsks {
  /** Accepts a request, and sends its answer once there is one. */
  take(request: Message): void;
  /** Withdraws a question: the runtime no longer waits for its answer. */
  withdraw(id: string): void;
}

/** Dependencies of the questions. */
export interface StreamAskDeps {
  readonly send: (message: Message) => Promise<void>;
  readonly decide: (ask: PermissionAsk, signal: AbortSignal) => Promise<PermissionAnswer>;
  readonly proxied: ReadonlySet<string>;
  /** Called for each denied call. */
  readonly onDenied: (callId: string) => void;
}

/** Creates the questions. */
export function createStreamAsks(deps: StreamAskDeps): StreamAsks {
  const open = new Map<string, AbortController>();

  async function answer(id: string, response: Message): Promise<void> {
    // If the runtime has withdrawn its question, it waits for no answer.
    if (!open.delete(id)) return;
    await deps.send({ type: "control_response", response: { request_id: id, ...response } });
  }

  async function decide(id: string, ask: Message, over: AbortSignal): Promise<void> {
    const name = textOf(ask.tool_name) || "tool";
    const answered = await deps.decide({
      callId: textOf(ask.tool_use_id),
      ...namedTool(name, mcpToolOf(name), deps.proxied),
      title: textOf(ask.title) || textOf(ask.description),
      arguments: ask.input,
    }, over);
    if (answered.decision === "deny") deps.onDenied(textOf(ask.tool_use_id));
    await answer(id, {
      subtype: "success",
      response: answered.decision === "allow"
        ? { behavior: "allow", updatedInput: fieldsOf(ask.input) }
        : { behavior: "deny", message: answered.reason },
    });
  }

  return {
    take(request) {
      const id = textOf(request.request_id);
      const body = fieldsOf(request.request);
      const over = new AbortController();
      open.set(id, over);
      if (body.subtype === "can_use_tool") void decide(id, body, over.signal);
      else void answer(id, { subtype: "error", error: `not supported: ${textOf(body.subtype)}` });
    },
    withdraw(id) {
      const question = open.get(id);
      open.delete(id);
      question?.abort();
    },
  };
}
