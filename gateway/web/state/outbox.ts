/**
 * Outgoing messages from the device to the gateway. Pure: what is stored, what to send next,
 * and what an answer makes of it. The key of a message is made once and stored before it is sent,
 * so that a message that is sent again is the same message.
 *
 * | State | Meaning |
 * |---|---|
 * | queued | on this device, waiting for its turn |
 * | sending | a request is under way |
 * | unconfirmed | a request got no answer; it will be sent again under the same key |
 * | sent | the gateway has stored it; it goes as soon as the transcript shows it |
 * | refused | the gateway does not take it, with the reason |
 *
 * @module
 */

import { number, record, text } from "gateway/web/state/wire.ts";

/** One message. */
export interface OutboxItem {
  readonly key: string;
  readonly agent: string;
  readonly text: string;
  readonly createdAt: number;
  readonly state: "queued" | "sending" | "unconfirmed" | "sent" | "refused";
  /** Known once the gateway has answered. */
  readonly turnId: string | undefined;
  readonly reason: string | undefined;
}

/** What became of a request. */
export type SendAnswer =
  | { readonly kind: "accepted"; readonly turnId: string }
  | { readonly kind: "refused"; readonly reason: string }
  /** No answer, or one that says nothing about the message. */
  | { readonly kind: "unknown" }
  /** The gateway is busy or the session is over: nothing was stored, and it may be sent later. */
  | { readonly kind: "later" };

/** The item to send next: the oldest of an agent, when nothing of that agent is under way. */
export function nextToSend(items: readonly OutboxItem[]): OutboxItem | undefined {
  const busy = new Set<string>();
  for (const item of inOrder(items)) {
    if (busy.has(item.agent)) continue;
    if (item.state === "queued" || item.state === "unconfirmed") return item;
    if (item.state === "sending" || item.state === "refused") busy.add(item.agent);
  }
  return undefined;
}

/** Items in the order in which they were written. */
function inOrder(items: readonly OutboxItem[]): readonly OutboxItem[] {
  return [...items].sort((a, b) => a.createdAt - b.createdAt || (a.key < b.key ? -1 : 1));
}

/** Replaces or adds one item. */
export function withItem(items: readonly OutboxItem[], item: OutboxItem): readonly OutboxItem[] {
  return inOrder([...items.filter(({ key }) => key !== item.key), item]);
}

/** Takes one item out. */
export function withoutItem(items: readonly OutboxItem[], key: string): readonly OutboxItem[] {
  return items.filter((item) => item.key !== key);
}

/** What an answer makes of an item. */
export function answered(item: OutboxItem, answer: SendAnswer): OutboxItem {
  switch (answer.kind) {
    case "accepted":
      return { ...item, state: "sent", turnId: answer.turnId, reason: undefined };
    case "refused":
      return { ...item, state: "refused", reason: answer.reason };
    case "unknown":
      return { ...item, state: "unconfirmed" };
    case "later":
      return { ...item, state: item.state === "unconfirmed" ? "unconfirmed" : "queued" };
  }
}

/** What a status of `POST /api/turns` says about the message. */
export function answerOf(
  status: number,
  body: { readonly turnId: string; readonly code: string; readonly detail: string },
): SendAnswer {
  if (status === 202 && body.turnId !== "") return { kind: "accepted", turnId: body.turnId };
  if (status === 401 || status === 429 || status === 503 || status === 507) {
    return { kind: "later" };
  }
  // A session that is over is a redirect to the login, or says that nobody is signed in.
  if (status === 0 || body.code === "viewer-denied") return { kind: "later" };
  // Somebody else is signed in: it waits on this device until its writer is back.
  if (body.code === "viewer-changed") return { kind: "later" };
  if (status >= 400 && status < 500) return { kind: "refused", reason: body.detail };
  return { kind: "unknown" };
}

/** An item as the device kept it: what was under way when the page ended is not confirmed. */
export function revived(value: unknown): OutboxItem | undefined {
  const given = record(value);
  const key = text(given.key);
  const agent = text(given.agent);
  if (key === "" || agent === "" || typeof given.text !== "string") return undefined;
  const state = text(given.state);
  return {
    key,
    agent,
    text: given.text,
    createdAt: number(given.createdAt),
    state: state === "queued" || state === "refused" ? state : "unconfirmed",
    turnId: undefined,
    reason: typeof given.reason === "string" ? given.reason : undefined,
  };
}

/** Keys of items that the transcript shows by now. */
export function shownKeys(
  items: readonly OutboxItem[],
  turnIds: ReadonlySet<string>,
): readonly string[] {
  return items.filter(({ turnId }) => turnId !== undefined && turnIds.has(turnId))
    .map(({ key }) => key);
}
