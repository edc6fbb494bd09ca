/**
 * The arithmetic of an outbox: which numbers are acknowledged, in flight and waiting. No I/O; the
 * events themselves are in SQLite (`units/dial/store.ts`).
 *
 * | Input | Condition | Next |
 * |---|---|---|
 * | registered, acked a | dropped ≤ a ≤ last | everything after a is sent again |
 * | registered, acked a | a < dropped or a > last | renumber: one of the two sides lost its state |
 * | appended | | last + 1 |
 * | ack s | acked < s ≤ sent | acked = s |
 * | ack s | otherwise | nothing |
 *
 * @module
 */

import { DIAL_LIMITS } from "core/limits/dial.ts";

/** Numbers within one epoch. Always `acked ≤ sent ≤ last`. */
export interface OutboxWindow {
  readonly acked: number;
  readonly sent: number;
  readonly last: number;
}

/** How an outbox continues after a registration. */
export type Resume =
  | { readonly kind: "resume"; readonly window: OutboxWindow }
  /** The numbers of the two sides do not match; start a new epoch with the waiting events. */
  | { readonly kind: "renumber" };

/** Decides how to continue after `registered`; `dropped` is the last number that was deleted. */
export function decideResume(of: {
  readonly ackedAtGateway: number;
  readonly dropped: number;
  readonly last: number;
}): Resume {
  const { ackedAtGateway, dropped, last } = of;
  if (ackedAtGateway < dropped || ackedAtGateway > last) return { kind: "renumber" };
  return { kind: "resume", window: { acked: ackedAtGateway, sent: ackedAtGateway, last } };
}

/** Records that events up to `last` are stored. */
export function appendedTo(window: OutboxWindow, last: number): OutboxWindow {
  return last > window.last ? { ...window, last } : window;
}

/** Records an acknowledgement; ignores one for a number that was never sent. */
export function acknowledged(window: OutboxWindow, seq: number): OutboxWindow {
  return seq > window.acked && seq <= window.sent ? { ...window, acked: seq } : window;
}

/** Returns the numbers to send next (inclusive), or undefined when the window is full or empty. */
export function nextToSend(
  window: OutboxWindow,
  inFlightMax: number = DIAL_LIMITS.unacknowledgedEventsMax,
): { readonly from: number; readonly to: number } | undefined {
  const to = Math.min(window.last, window.acked + inFlightMax);
  return to > window.sent ? { from: window.sent + 1, to } : undefined;
}

/** Records that everything up to `seq` was passed to the socket. */
export function sentUpTo(window: OutboxWindow, seq: number): OutboxWindow {
  return seq > window.sent ? { ...window, sent: Math.min(seq, window.last) } : window;
}
