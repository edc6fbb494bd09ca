/**
 * The text of an answer: what the agent wrote, and what the gateway must add. Pure.
 *
 * @module
 */

import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { Turn } from "teamchat/store/turn.ts";

const EMPTY = "The agent finished without writing anything.";

/** Returns the whole text of the answer to a turn that has ended. */
export function answerText(turn: Turn): string {
  const answer = turn.answer.trim() === "" ? "" : turn.answer.trimEnd();
  const added = addition(turn);
  if (answer === "") return added ?? EMPTY;
  return added === undefined ? answer : `${answer}\n\n_${added}_`;
}

function addition({ outcome, reason, answer }: Turn): string | undefined {
  switch (outcome) {
    case "completed":
    case undefined:
      return undefined;
    case "cancelled":
      return "Stopped.";
    case "expired":
      return "This message was not delivered: the agent was disconnected for too long. Please " +
        "send it again.";
    case "failed":
    case "interrupted": {
      const what = answer.trim() === "" ? "There is no answer" : "The answer ends here";
      return reason === undefined ? `${what}.` : `${what}: ${oneLine(reason)}`;
    }
  }
}

/** Returns the reason as one line without Markdown: it may be a program's raw output. */
function oneLine(text: string): string {
  return text.replace(/[\s_*`<>[\]]+/g, " ").trim().slice(0, REASON_LENGTH_MAX);
}
const REASON_LENGTH_MAX = 300;

/** Assembles the visible text of an unfinished answer. */
export interface ShownText {
  /** Adds a piece of a message. A gap before `offset` means that a piece was dropped. */
  delta(messageId: string, text: string, offset: number | undefined): void;
  /** Call when a whole message is stored; `answer` is everything so far. */
  whole(messageId: string, answer: string): void;
  text(): string;
}

/** Creates the text, starting with what is already stored. */
export function createShownText(answer: string): ShownText {
  let base = answer;
  let partial = { id: "", text: "", isBroken: false };
  let ended = "";
  return {
    delta: (id, text, offset) => {
      if (id === ended) return;
      if (partial.id !== id) partial = { id, text: "", isBroken: (offset ?? 0) > 0 };
      if (partial.isBroken || (offset !== undefined && offset < partial.text.length)) return;
      const isLost = offset !== undefined && offset > partial.text.length;
      // The store drops a message over this length, so stop extending its preview.
      const isTooLong = partial.text.length + text.length > TEAMCHAT_LIMITS.answerLengthMax;
      if (isLost || isTooLong) partial.isBroken = true;
      else partial.text += text;
    },
    whole: (id, all) => {
      base = all;
      ended = id;
      partial = { id: "", text: "", isBroken: false };
    },
    text: () => {
      if (partial.text.trim() === "") return base;
      return base === "" ? partial.text : `${base}\n\n${partial.text}`;
    },
  };
}
