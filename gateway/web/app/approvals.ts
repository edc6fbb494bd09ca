/**
 * Calls of the open agent that wait for its owner: read again whenever something about them
 * happens, decided once. A fault belongs to the call it is about and goes with it.
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
/** What went wrong, by id. */
export const approvalFaults = signal<ReadonlyMap<string, string>>(new Map());

let reading: AbortController | undefined;

/** Reads what waits at the open agent; the newest answer counts. */
export async function readOpenApprovals(): Promise<void> {
  const agent = selected.value;
  reading?.abort();
  if (agent === undefined) return forgetApprovals();
  const own = reading = new AbortController();
  // A lost connection is told by the stream, and read again when it is back.
  const open = await fetchApprovals(agent, own.signal).catch(() => undefined);
  if (open === undefined || own.signal.aborted || selected.value !== agent) return;
  now.value = Date.now();
  approvals.value = open;
  const ids = new Set(open.map(({ id }) => id));
  approvalFaults.value = new Map([...approvalFaults.value].filter(([id]) => ids.has(id)));
}

/** Another agent is opened. */
export function forgetApprovals(): void {
  approvals.value = [];
  approvalFaults.value = new Map();
}

/** Looks at what came by the stream. */
export function onApprovalEvents(events: readonly WireEvent[]): void {
  if (events.some(({ kind }) => kind.startsWith("approval_"))) void readOpenApprovals();
}

/** Calls of the open transcript that run, oldest first. */
const runningCalls = computed(() =>
  turns.value.flatMap(({ steps }) => steps)
    .flatMap((step) => step.kind === "fold" ? step.tools : step.kind === "tool" ? [step] : [])
    .filter(({ status }) => status === "running")
);
const waiting = computed(() => waitingKeys(runningCalls.value, approvals.value));

/** Whether a call that runs waits for its owner, as far as is known here. */
export function isWaiting({ key }: { readonly key: string }): boolean {
  return waiting.value.has(key);
}

/** Sends a decision about the call that is shown. */
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
