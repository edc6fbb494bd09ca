/**
 * Messages that the runtime itself carries out: `/compact` and `/summary`. Such a turn makes no
 * call of a tool. Its answer is stored like an answer of the model, so a turn that continues after
 * a restart does not repeat what is done.
 *
 * @module
 */

import { byteLength } from "core/text/cut_text.ts";
import { SUMMARY_BYTES_MAX } from "units/agent_loop/conversation/summary.ts";
import type { Conversation } from "units/agent_loop/conversation/store.ts";
import { stopped, type TurnStop } from "units/agent_loop/turn/sink.ts";
import {
  storeSummary,
  type Summariser,
  type SummaryContext,
} from "units/agent_loop/turn/summarise.ts";

/** A message that the runtime carries out. */
export type Command =
  /** Summarise now; `focus` is what the owner wants to keep. */
  | { readonly kind: "compact"; readonly focus: string | undefined }
  /** Show the summary, or replace it by `text`. */
  | { readonly kind: "summary"; readonly text: string | undefined };

const COMMAND = /^\/(compact|summary)(?:\s+([\s\S]*))?$/;

/** Returns the command that a message is; undefined for any other message. */
export function parseCommand(message: string): Command | undefined {
  const [, name, rest = ""] = COMMAND.exec(message.trim()) ?? [];
  const given = rest.trim() === "" ? undefined : rest.trim();
  if (name === "compact") return { kind: "compact", focus: given };
  return name === "summary" ? { kind: "summary", text: given } : undefined;
}

/** Carries out a command, and stores and reports its answer. */
export async function runCommand(
  command: Command,
  summariser: Summariser,
  context: Pick<SummaryContext, "conversation" | "sink" | "ports">,
): Promise<TurnStop> {
  const { conversation, sink, ports } = context;
  const answer = hasOwnSummary(conversation)
    ? DONE[command.kind]
    : command.kind === "compact"
    ? await compact(summariser, command.focus)
    : await showOrReplace(command.text, context);
  if (typeof answer !== "string") return answer;
  const at = ports.clock.now();
  await conversation.append({
    type: "assistant",
    at,
    parts: [{ type: "text", text: answer }],
    finish: "stop",
  });
  await sink.text(ports.random.uuid(), answer);
  return stopped("end_turn");
}

const DONE = {
  compact: "The conversation is summarised.",
  summary: "The summary is replaced.",
} as const;

/** Whether the running turn has stored a summary, before a restart of the runtime. */
function hasOwnSummary(conversation: Conversation): boolean {
  const last = conversation.records().findLast(({ type }) => type === "user" || type === "summary");
  return last?.type === "summary";
}

async function compact(
  summariser: Summariser,
  focus: string | undefined,
): Promise<string | TurnStop> {
  const outcome = await summariser.all(focus);
  switch (outcome.kind) {
    case "stored":
      return DONE.compact;
    case "nothing":
      return "There is nothing to summarise yet.";
    case "failed":
      return `${outcome.reason}. The conversation is unchanged.`;
    case "over":
      return outcome.end;
  }
}

async function showOrReplace(
  text: string | undefined,
  context: Pick<SummaryContext, "conversation" | "sink" | "ports">,
): Promise<string> {
  const { conversation } = context;
  const summary = conversation.summary();
  if (summary === undefined) {
    return "This conversation has no summary. `/compact` makes one.";
  }
  if (text === undefined) return summary.text;
  if (byteLength(text) > SUMMARY_BYTES_MAX) {
    return `The summary is unchanged: the new text must have at most ${SUMMARY_BYTES_MAX} bytes.`;
  }
  await storeSummary(context, { text, by: "owner", from: conversation.visibleFrom() });
  return DONE.summary;
}
