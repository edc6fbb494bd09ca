/**
 * Requests of `codex app-server` to its client. Commands, file changes and MCP calls need a
 * permission decision, which allows each one once at most. Elicitations of MCPs and the program's
 * own questions reach a person. A question that cannot be shown is cancelled, and a notice says so.
 * Unknown requests are answered with an error.
 *
 * @module
 */

import type { QuestionForm, QuestionReply } from "core/questions/form.ts";
import { canonicalJson } from "core/risk/call.ts";
import type { PermissionAnswer, PermissionAsk } from "units/dial/runtimes/acp_permission.ts";
import { callOfItem, pick } from "units/dial/runtimes/codex_items.ts";
import { readUserInput } from "units/dial/runtimes/codex_user_input.ts";
import { fieldsOf, type Message, notice, textOf } from "units/dial/runtimes/message.ts";
import { elicitationOf, type QuestionAsker } from "units/dial/runtimes/question.ts";
import { patchAct } from "units/dial/runtimes/tool_acts.ts";

/** The open questions of one process. */
export interface CodexAsks {
  /** Handles a request; returns notices for the person who watches. */
  take(request: Message): readonly unknown[];
  /** Records items, because a later request refers to its item. */
  onItem(method: string, item: Message): void;
  /** Withdraws a question: the program no longer waits for its answer. */
  withdraw(id: unknown): void;
}

/** Dependencies of the questions. */
export interface AskDeps {
  readonly send: (message: Message) => Promise<void>;
  readonly decide: (ask: PermissionAsk, signal: AbortSignal) => Promise<PermissionAnswer>;
  readonly ask: QuestionAsker;
  readonly proxied: ReadonlySet<string>;
  /** Called for each denial. */
  readonly onDenied: (callId: string, reason: string) => void;
}

/** A question, and the function that formats its answer. */
interface Question {
  readonly ask: PermissionAsk;
  readonly print: (isAllowed: boolean) => Message;
}

interface OpenItem {
  readonly item: Message;
  isAsked: boolean;
}

/** Maximum number of started calls that are remembered for questions about them. */
const OPEN_ITEMS_MAX = 1_000;
/** Fields of a command that the approval shows. */
const COMMAND_FIELDS = [
  "command",
  "cwd",
  "reason",
  "networkApprovalContext",
  "additionalPermissions",
];
const METHOD_NOT_FOUND = -32601;

/** Creates the questions. */
export function createCodexAsks(deps: AskDeps): CodexAsks {
  return new OpenQuestions(deps);
}

class OpenQuestions implements CodexAsks {
  readonly #deps: AskDeps;
  readonly #open = new Map<unknown, AbortController>();
  readonly #items = new Map<string, OpenItem>();

  constructor(deps: AskDeps) {
    this.#deps = deps;
  }

  take({ id, method, params: given }: Message): readonly unknown[] {
    const params = fieldsOf(given);
    switch (method) {
      case "item/commandExecution/requestApproval":
        this.#askAboutCommand(id, params);
        return [];
      case "item/fileChange/requestApproval":
        this.#askAboutFiles(id, params);
        return [];
      case "mcpServer/elicitation/request":
        return fieldsOf(params._meta).codex_approval_kind === undefined
          ? this.#elicit(id, params)
          : this.#askAboutMcp(id, params);
      case "item/permissions/requestApproval":
        void this.#deps.send({ id, result: { permissions: {}, scope: "turn" } });
        return [unanswered("The program", params.reason)];
      case "item/tool/requestUserInput":
        return this.#askUser(id, params);
      default: {
        const message = `not supported: ${textOf(method)}`;
        void this.#deps.send({ id, error: { code: METHOD_NOT_FOUND, message } });
        return [];
      }
    }
  }

  onItem(method: string, item: Message): void {
    const id = textOf(item.id);
    if (method === "item/completed") this.#items.delete(id);
    else if (callOfItem(item) !== undefined && this.#items.size < OPEN_ITEMS_MAX) {
      this.#items.set(id, { item, isAsked: this.#items.get(id)?.isAsked ?? false });
    }
  }

  withdraw(id: unknown): void {
    this.#open.get(id)?.abort();
    this.#open.delete(id);
  }

  #askAboutCommand(id: unknown, params: Message): void {
    const callId = textOf(params.itemId);
    const known = fieldsOf(this.#items.get(callId)?.item);
    const shown = pick({ ...pick(known, ["command", "cwd"]), ...params }, COMMAND_FIELDS);
    const act = { toolClass: "command" as const, paths: [] };
    const ask = { callId, tool: "exec_command", title: "", arguments: shown, act };
    void this.#put(id, { ask, print: decision });
  }

  #askAboutFiles(id: unknown, params: Message): void {
    const callId = textOf(params.itemId);
    const call = callOfItem(this.#items.get(callId)?.item ?? {});
    // A decision must not grant a whole folder, and a change without an item cannot be shown.
    if (call === undefined || (params.grantRoot ?? null) !== null) {
      return void this.#deps.send({ id, result: { decision: "decline" } });
    }
    const given = { ...call.arguments, ...pick(params, ["reason"]) };
    const act = patchAct(call.arguments.changes);
    const ask = { callId, tool: call.tool, title: "", arguments: given, act };
    void this.#put(id, { ask, print: decision });
  }

  #askAboutMcp(id: unknown, params: Message): readonly unknown[] {
    const found = this.#callAskedAbout(params);
    const call = found === undefined ? undefined : callOfItem(found.item);
    if (found === undefined || call?.mcp === undefined) {
      void this.#deps.send({ id, result: { action: "cancel", content: null, _meta: null } });
      return [unanswered(`MCP ${JSON.stringify(textOf(params.serverName))}`, params.message)];
    }
    found.isAsked = true;
    const ask = {
      ...call,
      callId: textOf(found.item.id),
      isProxied: false,
      title: textOf(params.message),
    };
    const print = (isAllowed: boolean) => ({
      action: isAllowed ? "accept" : "decline",
      content: isAllowed ? {} : null,
      _meta: null,
    });
    void this.#put(id, { ask, print });
    return [];
  }

  /**
   * Returns the call that a request to approve an MCP call is about. A server's own question can
   * imitate such a request, so only a started call without a request counts. The program never asks
   * about proxied calls.
   */
  #callAskedAbout(params: Message): OpenItem | undefined {
    const meta = fieldsOf(params._meta);
    if (meta.codex_approval_kind !== "mcp_tool_call") return undefined;
    if (this.#deps.proxied.has(textOf(params.serverName))) return undefined;
    return [...this.#items.values()].find(({ item, isAsked }) =>
      !isAsked && item.type === "mcpToolCall" && item.server === params.serverName &&
      item.tool === meta.tool_name && isSame(item.arguments, meta.tool_params)
    );
  }

  #elicit(id: unknown, params: Message): readonly unknown[] {
    const { serverName, message, mode: given, url, requestedSchema: schema } = params;
    // The program's own name of a form that may use more than MCP allows.
    const mode = given === "openai/form" || given === "openaiForm" ? "form" : given;
    const read = elicitationOf({ mcp: textOf(serverName), message, mode, url, schema });
    if (read.form === undefined) {
      void this.#deps.send({ id, result: { action: "cancel", content: null, _meta: null } });
      return [read.notice];
    }
    void this.#askPerson(id, read.form, (reply) => {
      const { action, content = null } = read.resultOf(reply);
      return { action, content, _meta: null };
    });
    return [];
  }

  #askUser(id: unknown, params: Message): readonly unknown[] {
    const read = readUserInput(params);
    if (!read.ok) {
      void this.#deps.send({ id, result: { answers: {} } });
      return [unanswered("The program", read.error)];
    }
    const { form, answered } = read.value;
    void this.#askPerson(
      id,
      form,
      (reply) => reply.action === "accept" ? answered(reply.values) : { answers: {} },
    );
    return [];
  }

  async #askPerson(
    id: unknown,
    form: QuestionForm,
    print: (reply: QuestionReply) => Message,
  ): Promise<void> {
    const over = new AbortController();
    this.#open.set(id, over);
    const reply = await this.#deps.ask(form, over.signal);
    if (this.#open.delete(id)) await this.#deps.send({ id, result: print(reply) });
  }

  async #put(id: unknown, { ask, print }: Question): Promise<void> {
    const over = new AbortController();
    this.#open.set(id, over);
    const answer = await this.#deps.decide(ask, over.signal);
    if (!this.#open.delete(id)) return;
    if (answer.decision === "deny") this.#deps.onDenied(ask.callId, answer.reason);
    await this.#deps.send({ id, result: print(answer.decision === "allow") });
  }
}

/** Compares arguments. Returns false for arguments that are nested too deep. */
function isSame(some: unknown, others: unknown): boolean {
  try {
    return canonicalJson(fieldsOf(some)) === canonicalJson(fieldsOf(others));
  } catch {
    return false;
  }
}

function decision(isAllowed: boolean): Message {
  return { decision: isAllowed ? "accept" : "decline" };
}

function unanswered(asker: string, question: unknown): unknown {
  return notice(`${asker} asked a question, which was cancelled`, textOf(question));
}
