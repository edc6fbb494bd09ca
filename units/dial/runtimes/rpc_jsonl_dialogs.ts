/**
 * Dialogs that the extensions of a command-driven runtime open. fleetctl's extension
 * (`units/render/pi_gate.js`) asks for permission in a text dialog; its answer contains the reason
 * of a denial. Yes-or-no dialogs of other extensions are decided too. Their other dialogs are
 * questions to a person.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";
import type { QuestionForm } from "core/questions/form.ts";
import { parseJsonObject } from "core/text/json_object.ts";
import {
  namedTool,
  type PermissionAnswer,
  type PermissionAsk,
} from "units/dial/runtimes/acp_permission.ts";
import { mcpToolOf } from "units/dial/runtimes/mcp_tool_name.ts";
import { type Message, notice, textOf } from "units/dial/runtimes/message.ts";
import type { QuestionAsker } from "units/dial/runtimes/question.ts";
import { dialogAnswer, readDialogForm } from "units/dial/runtimes/rpc_jsonl_forms.ts";
import { piAct } from "units/dial/runtimes/tool_acts.ts";

/** Title of the dialog of fleetctl's extension. */
const GATE_TITLE = "fleetctl.permission";
/** Requests that need an answer; other requests of extensions only show something. */
const DIALOGS: ReadonlySet<string> = new Set(["select", "confirm", "input", "editor"]);

/** The open dialogs of one process. */
export interface RpcDialogs {
  /**
   * Accepts a message if it is a dialog, and sends its answer once there is one. Returns notices
   * for the person who watches; undefined if the message is no dialog.
   */
  take(message: Message): readonly unknown[] | undefined;
  /** Denies and cancels the open dialogs. */
  dismiss(): Promise<void>;
}

/** Dependencies of the dialogs. */
export interface DialogDeps {
  readonly send: (message: Message) => Promise<void>;
  readonly decide: (ask: PermissionAsk, signal: AbortSignal) => Promise<PermissionAnswer>;
  readonly ask: QuestionAsker;
  readonly proxied: ReadonlySet<string>;
  readonly clock: Pick<Clock, "sleep">;
  /** Whether the turn was cancelled, so that no person is asked. */
  readonly isCancelled: () => boolean;
  /** Called for each denied call. */
  readonly onDenied: (callId: string) => void;
}

const CANCELLED: PermissionAnswer = { decision: "deny", reason: "The turn was cancelled" };

/** A dialog that waits for its answer. */
interface OpenDialog {
  /** Aborts when the runtime no longer waits for the answer. */
  readonly over: AbortController;
  /** Returns the answer of a cancelled turn. */
  dismissed(): Message;
}

/** A dialog as a request for permission, and the function that formats its answer. */
interface Permission {
  readonly ask: PermissionAsk;
  readonly print: (answer: PermissionAnswer) => Message;
}

/** Creates the dialogs. */
export function createRpcDialogs(deps: DialogDeps): RpcDialogs {
  return new Dialogs(deps);
}

class Dialogs implements RpcDialogs {
  readonly #deps: DialogDeps;
  readonly #open = new Map<string, OpenDialog>();

  constructor(deps: DialogDeps) {
    this.#deps = deps;
  }

  take(message: Message): readonly unknown[] | undefined {
    if (message.type !== "extension_ui_request") return undefined;
    if (!DIALOGS.has(textOf(message.method))) return undefined;
    const permission = permissionOf(message, this.#deps.proxied);
    const form = permission === undefined ? readDialogForm(message) : undefined;
    // An extension may ask again although the turn was cancelled.
    if (this.#deps.isCancelled()) {
      void this.#send(message, permission?.print(CANCELLED) ?? { cancelled: true });
    } else if (permission !== undefined) void this.#decide(message, permission);
    else if (form?.ok === true) void this.#ask(message, form.value);
    else {
      void this.#send(message, { cancelled: true });
      return [notice("An extension asked a question, which was cancelled", form?.error)];
    }
    return [];
  }

  async dismiss(): Promise<void> {
    await Promise.all([...this.#open].map(([id, dialog]) => this.#answer(id, dialog.dismissed())));
  }

  async #decide(message: Message, { ask, print }: Permission): Promise<void> {
    const { decide, onDenied } = this.#deps;
    const answer = (given: PermissionAnswer) => {
      if (given.decision === "deny") onDenied(ask.callId);
      return print(given);
    };
    const { id, signal } = this.#begin(message, () => answer(CANCELLED));
    const given = await decide(ask, signal);
    if (this.#open.has(id)) await this.#answer(id, answer(given));
  }

  async #ask(message: Message, form: QuestionForm): Promise<void> {
    const { id, signal } = this.#begin(message, () => ({ cancelled: true }));
    await this.#answer(id, dialogAnswer(await this.#deps.ask(form, signal)));
  }

  #begin(message: Message, dismissed: () => Message) {
    const id = textOf(message.id);
    const over = new AbortController();
    this.#open.set(id, { over, dismissed });
    const { timeout } = message;
    if (typeof timeout === "number" && timeout > 0) void this.#expire(id, timeout, over.signal);
    return { id, signal: over.signal };
  }

  /** The runtime answers such a dialog itself after its time, without a message. */
  async #expire(id: string, timeoutMs: number, signal: AbortSignal): Promise<void> {
    await this.#deps.clock.sleep(timeoutMs, signal);
    const dialog = this.#open.get(id);
    if (signal.aborted || dialog === undefined) return;
    this.#open.delete(id);
    dialog.over.abort();
  }

  async #answer(id: string, answer: Message): Promise<void> {
    const dialog = this.#open.get(id);
    if (dialog === undefined) return;
    this.#open.delete(id);
    dialog.over.abort();
    await this.#send({ id }, answer);
  }

  #send({ id }: Message, answer: Message): Promise<void> {
    return this.#deps.send({ type: "extension_ui_response", id, ...answer });
  }
}

/** Returns the request for permission that a dialog makes; undefined if it makes none. */
function permissionOf(message: Message, proxied: ReadonlySet<string>): Permission | undefined {
  const title = textOf(message.title);
  if (message.method === "input" && title === GATE_TITLE) {
    const given = parseJsonObject(textOf(message.placeholder)) ?? {};
    const name = textOf(given.tool) || "tool";
    return {
      ask: {
        callId: textOf(given.callId),
        ...namedTool(name, mcpToolOf(name), proxied),
        title: name,
        arguments: given.arguments,
        act: piAct(name, given.arguments),
      },
      print: (answer) => ({ value: JSON.stringify(answer) }),
    };
  }
  if (message.method !== "confirm") return undefined;
  return {
    ask: {
      callId: textOf(message.id),
      tool: title || "confirm",
      title,
      arguments: { message: textOf(message.message) },
    },
    print: ({ decision }) => ({ confirmed: decision === "allow" }),
  };
}
