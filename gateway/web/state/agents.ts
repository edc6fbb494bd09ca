/**
 * The list of agents: groups by need for attention, labels and shapes of states. Pure.
 *
 * @module
 */

import { QUESTION_WAITS } from "core/questions/question.ts";
import type { AgentCard } from "gateway/web/state/wire.ts";

/** Groups in the order of the list. */
const GROUPS = ["attention", "working", "idle", "offline"] as const;
/** One of `GROUPS`. */
export type Group = typeof GROUPS[number];

/** Headings of groups. */
export const GROUP_WORDS: Readonly<Record<Group, string>> = {
  attention: "Needs attention",
  working: "Working",
  idle: "Idle",
  offline: "Offline",
};

/** Shape of a state's icon; the words beside it name the state. */
export type StateShape = "disc" | "half" | "ring" | "cross" | "dashed" | "square" | "gap";

interface StateLabel {
  readonly group: Group;
  readonly shape: StateShape;
  readonly words: string;
}

/** State of an agent, a turn or a call while its owner must decide. */
export const NEEDS_APPROVAL = "needs approval";

/** The same while its owner must answer a question. */
export const NEEDS_ANSWER = "needs an answer";

const LOOKS: Readonly<Record<string, StateLabel>> = {
  "working": { group: "working", shape: "disc", words: "working" },
  "waiting-approval": { group: "attention", shape: "half", words: NEEDS_APPROVAL },
  "failed": { group: "attention", shape: "cross", words: "failed" },
  "starting": { group: "working", shape: "dashed", words: "starting" },
  "stopping": { group: "idle", shape: "dashed", words: "stopping" },
  "idle": { group: "idle", shape: "ring", words: "idle" },
  "stopped": { group: "offline", shape: "square", words: "stopped" },
  "offline": { group: "offline", shape: "gap", words: "offline" },
};
const UNKNOWN: StateLabel = { group: "idle", shape: "ring", words: "online" };

/** Returns the label and shape of a state; `reason` tells a question from an approval. */
export function labelOf(state: string, reason: string | null = null): StateLabel {
  const label = (Object.hasOwn(LOOKS, state) ? LOOKS[state] : undefined) ?? UNKNOWN;
  return reason === QUESTION_WAITS && label.words === NEEDS_APPROVAL
    ? { ...label, words: NEEDS_ANSWER }
    : label;
}

/** Returns the reason of a state unless its label already says it; empty for none. */
export function reasonWords(reason: string | null): string {
  return reason === QUESTION_WAITS ? "" : reason ?? "";
}

/** Groups the cards; omits empty groups. */
export function grouped(
  cards: readonly AgentCard[],
): readonly { readonly group: Group; readonly cards: readonly AgentCard[] }[] {
  return GROUPS.map((group) => ({
    group,
    cards: cards.filter(({ state }) => labelOf(state).group === group),
  })).filter(({ cards }) => cards.length > 0);
}

/** Replaces or adds one card; sorted by name. */
export function withCard(cards: readonly AgentCard[], card: AgentCard): readonly AgentCard[] {
  return [...cards.filter(({ agent }) => agent !== card.agent), card]
    .sort((a, b) => a.agent < b.agent ? -1 : 1);
}

/** Removes the card of an agent that left the ledger. */
export function withoutCard(cards: readonly AgentCard[], agent: string): readonly AgentCard[] {
  return cards.filter((card) => card.agent !== agent);
}

/** Formats an age such as "3 min". */
export function formatAge(since: number | null, now: number): string {
  if (since === null) return "";
  const seconds = Math.max(0, Math.floor((now - since) / 1_000));
  if (seconds < 45) return "now";
  if (seconds < 3_600) return `${Math.max(1, Math.round(seconds / 60))} min`;
  if (seconds < 86_400) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** Describes since when an agent is offline, and how its connection closed. */
export function offlineWords(card: AgentCard, now: number): string {
  if (card.lastSeen === null) return "not connected since the gateway started";
  const age = formatAge(card.lastSeen.at, now);
  const when = age === "now" ? "just now" : `${age} ago`;
  return `last seen ${when}, closed with ${card.lastSeen.closeCode}`;
}
