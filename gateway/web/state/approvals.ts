/**
 * Calls that wait for the owner, as the page shows them: several of one turn are one card. No I/O;
 * shapes are those of `docs/protocol.md`.
 *
 * @module
 */

import { number, record, text } from "gateway/web/state/wire.ts";

/** One call that waits, or whose decision is on its way. */
export interface ApprovalItem {
  readonly id: string;
  readonly turnId: string;
  /** Catalog name; empty for a tool of the runtime itself. */
  readonly mcp: string;
  readonly tool: string;
  readonly version: string;
  /** All of them, printed as JSON. */
  readonly arguments: string;
  readonly origin: string;
  readonly isDestructive: boolean;
  readonly expires: number;
  readonly digest: string;
  readonly decision: "approved" | "denied" | undefined;
}

/** One card. */
export interface ApprovalGroup {
  readonly turnId: string;
  readonly items: readonly ApprovalItem[];
}

/** Reads the open approvals; what cannot be read is left out. */
export function readApprovals(value: unknown): readonly ApprovalItem[] {
  const given: unknown = record(value).approvals;
  return Array.isArray(given) ? given.flatMap((each) => readApproval(each) ?? []) : [];
}

function readApproval(value: unknown): ApprovalItem | undefined {
  const given = record(value);
  const [id, digest, tool] = [text(given.approval_id), text(given.digest), text(given.tool)];
  if (id === "" || digest === "" || tool === "") return undefined;
  const { decision } = given;
  return {
    ...{ id, digest, tool, mcp: text(given.mcp), version: text(given.version) },
    ...{ turnId: text(given.turn_id), origin: text(given.origin) },
    arguments: JSON.stringify(record(given.arguments), null, 2),
    // Unless it is said to be harmless, it is not.
    isDestructive: given.is_destructive !== false,
    expires: number(given.expires),
    decision: decision === "approved" || decision === "denied" ? decision : undefined,
  };
}

/** Returns the cards: calls of one turn together, in the order of their first. */
export function groupApprovals(items: readonly ApprovalItem[]): readonly ApprovalGroup[] {
  const groups = new Map<string, ApprovalItem[]>();
  for (const item of items) {
    const key = item.turnId === "" ? item.id : item.turnId;
    groups.set(key, [...groups.get(key) ?? [], item]);
  }
  return [...groups].map(([turnId, own]) => ({ turnId, items: own }));
}

/** Returns how long somebody has to decide: `expires in 12 min`. */
export function expiryWords(expires: number, now: number): string {
  const seconds = Math.ceil((expires - now) / 1000);
  if (seconds <= 0) return "expired";
  return seconds < 120 ? `expires in ${seconds} s` : `expires in ${Math.round(seconds / 60)} min`;
}
