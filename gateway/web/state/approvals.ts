/**
 * Calls that wait for the owner, as the page shows them: several of one turn are one card. No I/O;
 * shapes are those of `docs/protocol.md`.
 *
 * @module
 */

import { number, parseJson, record, text } from "gateway/web/state/wire.ts";

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
    id,
    digest,
    tool,
    mcp: text(given.mcp),
    version: text(given.version),
    turnId: text(given.turn_id),
    origin: text(given.origin),
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

/** Says which of several waiting calls of one tool a call is: `git_push 1 of 2`; else the tool. */
export function callName(item: ApprovalItem, items: readonly ApprovalItem[]): string {
  const same = items.filter(({ mcp, tool }) => mcp === item.mcp && tool === item.tool);
  return same.length < 2 ? item.tool : `${item.tool} ${same.indexOf(item) + 1} of ${same.length}`;
}

/** What is known here of a call that runs. */
export interface RunningCall {
  readonly key: string;
  readonly mcp: string | null;
  readonly tool: string;
  readonly arguments: unknown;
}

/**
 * Returns the keys of the calls that wait: one for each open question. A question is about the call
 * with its arguments; where none has them, as when they were cut, about the newest of its tool.
 */
export function waitingKeys(
  calls: readonly RunningCall[],
  items: readonly ApprovalItem[],
): ReadonlySet<string> {
  const keys = new Set<string>();
  const take = (item: ApprovalItem, fits: (call: RunningCall) => boolean) => {
    const call = calls.findLast((each) =>
      !keys.has(each.key) && each.tool === item.tool && (each.mcp ?? "") === item.mcp && fits(each)
    );
    if (call !== undefined) keys.add(call.key);
    return call !== undefined;
  };
  const open = items.filter(({ decision }) => decision === undefined);
  const others = open.filter((item) => {
    const wanted = sorted(parseJson(item.arguments));
    return !take(item, (call) => sorted(call.arguments) === wanted);
  });
  for (const item of others) take(item, () => true);
  return keys;
}

/** JSON with the keys of each object in order: two programs may print them in their own. */
function sorted(value: unknown): string {
  return JSON.stringify(
    value,
    (_, part: unknown) =>
      typeof part === "object" && part !== null && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => a < b ? -1 : 1))
        : part,
  ) ?? "";
}

/** Returns how long somebody has to decide: `expires in 12 min`. */
export function expiryWords(expires: number, now: number): string {
  const seconds = Math.ceil((expires - now) / 1000);
  if (seconds <= 0) return "expired";
  return seconds < 120 ? `expires in ${seconds} s` : `expires in ${Math.round(seconds / 60)} min`;
}
