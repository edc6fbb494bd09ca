/**
 * Questions of a command-driven runtime: dialogs that its extensions open. Our own extension
 * (`units/render/pi_gate.js`) asks for permission in a text dialog, whose answer holds the reason
 * of a denial; a yes-or-no dialog of another one is decided as well. No other dialog is answered.
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

/** Title of the dialog of our extension. */
const GATE_TITLE = "fleetctl.permission";
/** Dialogs that wait for an answer; other requests of extensions only show something. */
const DIALOGS: ReadonlySet<string> = new Set(["select", "confirm", "input", "editor"]);

/** The open dialogs of one process. */
export interface RpcDialogs {
  /** Takes a message if it is a dialog; its answer is sent when there is one. */
  take(message: Message): boolean;
  /** Denies what is open. */
  dismiss(): Promise<void>;
}

/** What dialogs are made of. */
export interface DialogParts {
  readonly send: (message: Message) => Promise<void>;
  readonly decide: (ask: PermissionAsk, signal: AbortSignal) => Promise<PermissionAnswer>;
  readonly proxied: ReadonlySet<string>;
  /** Hears of each denied call. */
  readonly onDenied: (callId: string) => void;
}

const CANCELLED: PermissionAnswer = { decision: "deny", reason: "The turn was cancelled" };

/** A dialog as a question, and how its answer is printed. */
interface Question {
  readonly ask: PermissionAsk;
  /** Aborts when nobody waits for the answer any more. */
  readonly over: AbortController;
  readonly print: (answer: PermissionAnswer) => Message;
}

/** Creates the dialogs. */
export function createRpcDialogs(parts: DialogParts): RpcDialogs {
  const open = new Map<string, Question>();

  async function answer(id: string, said: PermissionAnswer): Promise<void> {
    const question = open.get(id);
    if (!open.delete(id) || question === undefined) return;
    question.over.abort();
    if (said.decision === "deny") parts.onDenied(question.ask.callId);
    await parts.send({ type: "extension_ui_response", id, ...question.print(said) });
  }

  return {
    take(message) {
      if (message.type !== "extension_ui_request") return false;
      if (!DIALOGS.has(textOf(message.method))) return false;
      const id = textOf(message.id);
      const question = questionOf(message, parts.proxied);
      if (question === undefined) {
        // A person who could choose or type is not here.
        void parts.send({ type: "extension_ui_response", id, cancelled: true });
        return true;
      }
      open.set(id, question);
      void parts.decide(question.ask, question.over.signal).then((said) => answer(id, said));
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
    const asked = parseJsonObject(textOf(message.placeholder)) ?? {};
    const name = textOf(asked.tool) || "tool";
    return {
      over,
      ask: {
        callId: textOf(asked.callId),
        ...namedTool(name, mcpToolOf(name), proxied),
        title: name,
        arguments: asked.arguments,
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
