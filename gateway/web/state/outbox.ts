/**
 * Outgoing messages from the device to the gateway. Pure: the stored shape, the next message to
 * send, and the effect of an answer. A message's key is created once and stored before sending, so
 * a resend is the same message.
 *
 * | State | Meaning |
 * |---|---|
 * | queued | on this device, waiting to be sent |
 * | sending | a request is in flight |
 * | unconfirmed | a request got no answer; it will be sent again under the same key |
 * | sent | the gateway has stored it; it is removed when the transcript shows it |
 * | refused | the gateway does not accept it, with the reason |
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

/** Result of a request. */
export type SendAnswer =
  | { readonly kind: "accepted"; readonly turnId: string }
  | { readonly kind: "refused"; readonly reason: string }
  /** No answer, or one that says nothing about the message. */
  | { readonly kind: "unknown" }
  /** The gateway is busy or the session has ended: nothing was stored, so it can be sent later. */
  | { readonly kind: "later" };

/**
 * The item to send next: the oldest one that waits, of an agent without an older item that is in
 * flight or refused.
 */
export function nextToSend(items: readonly OutboxItem[]): OutboxItem | undefined {
  const busy = new Set<string>();
  for (const item of inOrder(items)) {
    if (busy.has(item.agent)) continue;
    if (item.state === "queued" || item.state === "unconfirmed") return item;
    if (item.state === "sending" || item.state === "refused") busy.add(item.agent);
  }
  return undefined;
}

/** Sorts items by the time of writing. */
function inOrder(items: readonly OutboxItem[]): readonly OutboxItem[] {
  return [...items].sort((a, b) => a.createdAt - b.createdAt || (a.key < b.key ? -1 : 1));
}

/** Replaces or adds one item. */
export function withItem(items: readonly OutboxItem[], item: OutboxItem): readonly OutboxItem[] {
  return inOrder([...items.filter(({ key }) => key !== item.key), item]);
}

/** Removes one item. */
export function withoutItem(items: readonly OutboxItem[], key: string): readonly OutboxItem[] {
  return items.filter((item) => item.key !== key);
}

/** Applies an answer to an item. */
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

/** Interprets the response of `POST /api/turns`. */
export function answerOf(
  status: number,
  body: { readonly turnId: string; readonly code: string; readonly detail: string },
): SendAnswer {
  if (status === 202 && body.turnId !== "") return { kind: "accepted", turnId: body.turnId };
  if (status === 401 || status === 429 || status === 503 || status === 507) {
    return { kind: "later" };
  }
  // An ended session is a redirect to the login, or the code `viewer-denied`.
  if (status === 0 || body.code === "viewer-denied") return { kind: "later" };
  // Another person is signed in: the item waits on this device for its writer.
  if (body.code === "viewer-changed") return { kind: "later" };
  if (status >= 400 && status < 500) return { kind: "refused", reason: body.detail };
  return { kind: "unknown" };
}

/** Restores a stored item. One that was in flight when the page closed becomes unconfirmed. */
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

/** Keys of items that the transcript now shows. */
export function shownKeys(
  items: readonly OutboxItem[],
  turnIds: ReadonlySet<string>,
): readonly string[] {
  return items.filter(({ turnId }) => turnId !== undefined && turnIds.has(turnId))
    .map(({ key }) => key);
}
