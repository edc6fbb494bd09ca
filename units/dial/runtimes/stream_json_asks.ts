/**
 * Control requests of a streaming runtime to its client. `can_use_tool` requests a permission
 * decision. For the tool `AskUserQuestion` it is a question to a person, and so is an `elicitation`
 * of an MCP. Other requests are answered with an error.
 *
 * @module
 */

import {
  namedTool,
  type PermissionAnswer,
  type PermissionAsk,
} from "units/dial/runtimes/acp_permission.ts";
import { ASK_USER, readAskUser } from "units/dial/runtimes/ask_user.ts";
import { mcpToolOf } from "units/dial/runtimes/mcp_tool_name.ts";
import { fieldsOf, type Message, textOf } from "units/dial/runtimes/message.ts";
import { elicitationOf, type QuestionAsker } from "units/dial/runtimes/question.ts";
import { claudeAct } from "units/dial/runtimes/tool_acts.ts";

/** The open questions of one process. */
export interface StreamAsks {
  /**
   * Accepts a request, and sends its answer once there is one. Returns notices for the person who
   * watches.
   */
  take(request: Message): readonly unknown[];
  /** Withdraws a question: the runtime no longer waits for its answer. */
  withdraw(id: string): void;
}

/** Dependencies of the questions. */
export interface StreamAskDeps {
  readonly send: (message: Message) => Promise<void>;
  readonly decide: (ask: PermissionAsk, signal: AbortSignal) => Promise<PermissionAnswer>;
  readonly ask: QuestionAsker;
  readonly proxied: ReadonlySet<string>;
  /** Called for each denied call. */
  readonly onDenied: (callId: string) => void;
}

/** Creates the questions. */
export function createStreamAsks(deps: StreamAskDeps): StreamAsks {
  return new OpenAsks(deps);
}

class OpenAsks implements StreamAsks {
  readonly #deps: StreamAskDeps;
  readonly #open = new Map<string, AbortController>();

  constructor(deps: StreamAskDeps) {
    this.#deps = deps;
  }

  take(request: Message): readonly unknown[] {
    const id = textOf(request.request_id);
    const body = fieldsOf(request.request);
    const over = new AbortController();
    this.#open.set(id, over);
    if (body.subtype === "elicitation") return this.#elicit(id, body, over.signal);
    if (body.subtype !== "can_use_tool") {
      const error = `not supported: ${textOf(body.subtype)}`;
      void this.#answer(id, { subtype: "error", error });
    } else if (body.tool_name === ASK_USER) void this.#askUser(id, body, over.signal);
    else void this.#decide(id, body, over.signal);
    return [];
  }

  withdraw(id: string): void {
    const question = this.#open.get(id);
    this.#open.delete(id);
    question?.abort();
  }

  async #answer(id: string, response: Message): Promise<void> {
    // If the runtime has withdrawn its question, it waits for no answer.
    if (!this.#open.delete(id)) return;
    await this.#deps.send({ type: "control_response", response: { request_id: id, ...response } });
  }

  async #decide(id: string, ask: Message, over: AbortSignal): Promise<void> {
    const { decide, proxied, onDenied } = this.#deps;
    const name = textOf(ask.tool_name) || "tool";
    const answered = await decide({
      callId: textOf(ask.tool_use_id),
      ...namedTool(name, mcpToolOf(name), proxied),
      title: textOf(ask.title) || textOf(ask.description),
      arguments: ask.input,
      act: claudeAct(name, ask.input),
    }, over);
    if (answered.decision === "deny") onDenied(textOf(ask.tool_use_id));
    const response = answered.decision === "allow"
      ? { behavior: "allow", updatedInput: fieldsOf(ask.input) }
      : { behavior: "deny", message: answered.reason };
    await this.#answer(id, success(response));
  }

  /** Lets a person answer. The model reads why there is no answer. */
  async #askUser(id: string, body: Message, over: AbortSignal): Promise<void> {
    const { ask, onDenied } = this.#deps;
    const read = readAskUser(body.input);
    const reply = read.ok ? await ask(read.value.form, over) : undefined;
    if (read.ok && reply?.action === "accept") {
      const updatedInput = read.value.answered(reply.values);
      return await this.#answer(id, success({ behavior: "allow", updatedInput }));
    }
    onDenied(textOf(body.tool_use_id));
    const message = !read.ok
      ? `Cannot ask the person: ${read.error}`
      : reply?.action === "decline"
      ? "The person declined to answer the questions"
      : "No person answered the questions";
    await this.#answer(id, success({ behavior: "deny", message }));
  }

  #elicit(id: string, body: Message, over: AbortSignal): readonly unknown[] {
    const { mcp_server_name: name, message, mode, url, requested_schema: schema } = body;
    const read = elicitationOf({ mcp: textOf(name), message, mode, url, schema });
    if (read.form === undefined) {
      void this.#answer(id, success({ action: "cancel" }));
      return [read.notice];
    }
    void this.#deps.ask(read.form, over)
      .then((reply) => this.#answer(id, success(read.resultOf(reply))));
    return [];
  }
}

function success(response: object): Message {
  return { subtype: "success", response };
}
