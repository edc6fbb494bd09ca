/**
 * Calls of the open agent that wait for its owner. The list is fetched again when something about
 * them changes; each call is decided once. A fault is stored with its call and removed with it.
 *
 * @module
 */

import { computed, signal } from "@preact/signals";
import { now, selected, turns } from "gateway/web/app/model.ts";
import { fetchApprovals, Refused, sendDecision } from "gateway/web/device/cockpit.ts";
import { type ApprovalItem, waitingKeys } from "gateway/web/state/approvals.ts";
import type { WireEvent } from "gateway/web/state/wire.ts";

/** Open approvals of the open agent, oldest first. */
export const approvals = signal<readonly ApprovalItem[]>([]);
/** Ids whose decision is being sent. */
export const deciding = signal<ReadonlySet<string>>(new Set());
/** Error messages, by id. */
export const approvalFaults = signal<ReadonlyMap<string, string>>(new Map());

let reading: AbortController | undefined;

/**
 * Fetches the open agent's approvals; only the newest request counts. Returns whether a question
 * may wait too.
 */
export async function readOpenApprovals(): Promise<boolean> {
  const agent = selected.value;
  reading?.abort();
  if (agent === undefined) {
    forgetApprovals();
    return false;
  }
  const own = reading = new AbortController();
  // The stream reports a lost connection, and its reconnect triggers this fetch again.
  const waiting = await fetchApprovals(agent, own.signal).catch(() => undefined);
  if (waiting === undefined || own.signal.aborted || selected.value !== agent) return true;
  now.value = Date.now();
  const open = approvals.value = waiting.approvals;
  const ids = new Set(open.map(({ id }) => id));
  approvalFaults.value = new Map([...approvalFaults.value].filter(([id]) => ids.has(id)));
  return waiting.hasQuestions;
}

/** Clears the list when another agent is opened. */
export function forgetApprovals(): void {
  approvals.value = [];
  approvalFaults.value = new Map();
}

/** Fetches again when events of the stream concern approvals. */
export function onApprovalEvents(events: readonly WireEvent[]): void {
  if (events.some(({ kind }) => kind.startsWith("approval_"))) void readOpenApprovals();
}

/** Running calls of the open transcript, oldest first. */
const runningCalls = computed(() =>
  turns.value.flatMap(({ steps }) => steps)
    .flatMap((step) => step.kind === "fold" ? step.tools : step.kind === "tool" ? [step] : [])
    .filter(({ status }) => status === "running")
);
const waiting = computed(() => waitingKeys(runningCalls.value, approvals.value));

/** Whether a running call waits for its owner, by the page's own data. */
export function isWaiting({ key }: { readonly key: string }): boolean {
  return waiting.value.has(key);
}

/** Sends a decision about the call shown. */
export async function decideCall(
  item: ApprovalItem,
  decision: "approved" | "denied",
  reason: string,
): Promise<void> {
  const agent = selected.value;
  if (agent === undefined || deciding.value.has(item.id)) return;
  deciding.value = new Set([...deciding.value, item.id]);
  try {
    await sendDecision({
      agent,
      approval_id: item.id,
      digest: item.digest,
      decision,
      ...(reason.trim() === "" ? {} : { reason: reason.trim() }),
    });
    approvals.value = approvals.value.map((each) =>
      each.id === item.id ? { ...each, decision } : each
    );
  } catch (thrown) {
    const words = thrown instanceof Refused
      ? thrown.problem.detail
      : "The gateway did not answer. Your decision may not have arrived";
    approvalFaults.value = new Map([...approvalFaults.value, [item.id, words]]);
  } finally {
    deciding.value = new Set([...deciding.value].filter((id) => id !== item.id));
    await readOpenApprovals();
  }
}
