/**
 * Calls that wait for the owner, as the page shows them: calls of one turn share a card. No I/O;
 * shapes are those of `docs/protocol.md`.
 *
 * @module
 */

import { type SpendCard, spendCardOf } from "core/usage/spend_card.ts";
import { number, parseJson, record, text } from "gateway/web/state/wire.ts";

/** One call that waits, or whose decision is being sent. */
export interface ApprovalItem {
  readonly id: string;
  readonly turnId: string;
  /** Catalog name; empty for a tool of the runtime. */
  readonly mcp: string;
  readonly tool: string;
  readonly version: string;
  /** All arguments, formatted as JSON. */
  readonly arguments: string;
  readonly origin: string;
  readonly isDestructive: boolean;
  readonly expires: number;
  readonly digest: string;
  readonly decision: "approved" | "denied" | undefined;
  /** The words of its separate card, for an agent at a spend ceiling. */
  readonly spending?: SpendCard | undefined;
}

/** One card. */
export interface ApprovalGroup {
  /** Distinguishes it from the other cards. */
  readonly key: string;
  readonly items: readonly ApprovalItem[];
}

/** Parses the open approvals; omits malformed ones. */
export function parseApprovals(value: unknown): readonly ApprovalItem[] {
  const given: unknown = record(value).approvals;
  return Array.isArray(given) ? given.flatMap((each) => parseApproval(each) ?? []) : [];
}

function parseApproval(value: unknown): ApprovalItem | undefined {
  const given = record(value);
  const [id, digest, tool] = [text(given.approval_id), text(given.digest), text(given.tool)];
  if (id === "" || digest === "" || tool === "") return undefined;
  const { decision } = given;
  return {
    id,
    digest,
    tool,
    mcp: text(given.mcp),
    spending: spendCardOf({ mcp: text(given.mcp), tool, arguments: given.arguments }),
    version: text(given.version),
    turnId: text(given.turn_id),
    origin: text(given.origin),
    arguments: JSON.stringify(record(given.arguments), null, 2),
    // A call counts as destructive unless it is marked otherwise.
    isDestructive: given.is_destructive !== false,
    expires: number(given.expires),
    decision: decision === "approved" || decision === "denied" ? decision : undefined,
  };
}

/**
 * Groups the calls of each turn into one card, in the order of their first call. An agent at a
 * spend ceiling has a separate card. It comes first, so that long arguments of calls do not push it
 * out of the view of a phone.
 */
export function groupApprovals(items: readonly ApprovalItem[]): readonly ApprovalGroup[] {
  const groups = new Map<string, ApprovalItem[]>();
  for (const item of items) {
    const key = item.turnId === "" || item.spending !== undefined ? item.id : item.turnId;
    groups.set(key, [...groups.get(key) ?? [], item]);
  }
  const cards = [...groups].map(([key, own]) => ({ key, items: own }));
  const isSpending = ({ items: [first] }: ApprovalGroup) => first?.spending !== undefined;
  return [...cards.filter(isSpending), ...cards.filter((card) => !isSpending(card))];
}

/**
 * Numbers the waiting calls of one tool: `git_push 1 of 2`. Returns the tool's name for a single
 * call.
 */
export function callName(item: ApprovalItem, items: readonly ApprovalItem[]): string {
  const same = items.filter(({ mcp, tool }) => mcp === item.mcp && tool === item.tool);
  return same.length < 2 ? item.tool : `${item.tool} ${same.indexOf(item) + 1} of ${same.length}`;
}

/** A running call, as far as the page knows it. */
export interface RunningCall {
  readonly key: string;
  readonly mcp: string | null;
  readonly tool: string;
  readonly arguments: unknown;
}

/**
 * Returns the keys of the waiting calls, one for each open approval. An approval matches the call
 * with the same arguments. If no call has them, for example when they were truncated, it matches
 * the newest call of its tool.
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

/** Formats JSON with sorted object keys, because programs may order them differently. */
function sorted(value: unknown): string {
  return JSON.stringify(
    value,
    (_, part: unknown) =>
      typeof part === "object" && part !== null && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => a < b ? -1 : 1))
        : part,
  ) ?? "";
}

/** Units of a time in seconds, the largest first. */
const UNITS = [[86_400, "days"], [3_600, "h"], [60, "min"]] as const;

/** Formats the time left to decide: `expires in 12 min`. */
export function expiryWords(expires: number, now: number): string {
  const seconds = Math.ceil((expires - now) / 1000);
  if (seconds <= 0) return "expired";
  const [size, unit] = UNITS.find(([size]) => seconds >= 2 * size) ?? [1, "s"];
  return `expires in ${Math.round(seconds / size)} ${unit}`;
}
