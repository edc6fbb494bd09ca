/**
 * Dialogs that the extensions of a command-driven runtime open. fleetctl's extension
 * (`units/render/pi_gate.js`) asks for permission in a text dialog; its answer contains the reason
 * of a denial. Yes-or-no dialogs of other extensions are decided too. Other dialogs are not
 * answered.
 *
 * @module
 */

import { parseJsonObject } from "core/text/json_object.ts";
import {
  namedTool,
  type PermissionAnswer,
  type PermissionAsk,
} from "units/dial/runtimes/acp_permission.ts";
import { mcpToolOf } from "units/dial/runtimes/mcp_tool_name.ts";
import { type Message, textOf } from "units/dial/runtimes/message.ts";
import { piAct } from "units/dial/runtimes/tool_acts.ts";

/** Title of the dialog of fleetctl's extension. */
const GATE_TITLE = "fleetctl.permission";
/** Requests that need an answer; other requests of extensions only show something. */
const DIALOGS: ReadonlySet<string> = new Set(["select", "confirm", "input", "editor"]);

/** The open dialogs of one process. */
export interface RpcDialogs {
  /**
   * Accepts a message if it is a dialog, and sends its answer once there is one. Returns whether it
   * is a dialog.
   */
  take(message: Message): boolean;
  /** Denies the open dialogs. */
  dismiss(): Promise<void>;
}

/** Dependencies of the dialogs. */
export interface DialogDeps {
  readonly send: (message: Message) => Promise<void>;
  readonly decide: (ask: PermissionAsk, signal: AbortSignal) => Promise<PermissionAnswer>;
  readonly proxied: ReadonlySet<string>;
  /** Called for each denied call. */
  readonly onDenied: (callId: string) => void;
}

const CANCELLED: PermissionAnswer = { decision: "deny", reason: "The turn was cancelled" };

/** A dialog as a question, and the function that formats its answer. */
interface Question {
  readonly ask: PermissionAsk;
  /** Aborts when the runtime no longer waits for the answer. */
  readonly over: AbortController;
  readonly print: (answer: PermissionAnswer) => Message;
}

/** Creates the dialogs. */
export function createRpcDialogs(deps: DialogDeps): RpcDialogs {
  const open = new Map<string, Question>();

  async function answer(id: string, decision: PermissionAnswer): Promise<void> {
    const question = open.get(id);
    if (!open.delete(id) || question === undefined) return;
    question.over.abort();
    if (decision.decision === "deny") deps.onDenied(question.ask.callId);
    await deps.send({ type: "extension_ui_response", id, ...question.print(decision) });
  }

  return {
    take(message) {
      if (message.type !== "extension_ui_request") return false;
      if (!DIALOGS.has(textOf(message.method))) return false;
      const id = textOf(message.id);
      const question = questionOf(message, deps.proxied);
      if (question === undefined) {
        // No person can choose or type here.
        void deps.send({ type: "extension_ui_response", id, cancelled: true });
        return true;
      }
      open.set(id, question);
      void deps.decide(question.ask, question.over.signal).then((decision) => answer(id, decision));
      return true;
    },
    async dismiss() {
      await Promise.all([...open.keys()].map((id) => answer(id, CANCELLED)));
    },
  };
}

function questionOf(message: Message, proxied: ReadonlySet<string>): Question | undefined {
  const title = textOf(message.title);
  const over = new AbortController();
  if (message.method === "input" && title === GATE_TITLE) {
    const given = parseJsonObject(textOf(message.placeholder)) ?? {};
    const name = textOf(given.tool) || "tool";
    return {
      over,
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
    over,
    ask: {
      callId: textOf(message.id),
      tool: title || "confirm",
      title,
      arguments: { message: textOf(message.message) },
    },
    print: ({ decision }) => ({ confirmed: decision === "allow" }),
  };
}
