/**
 * Client requests that have no answer yet. Pure bookkeeping; deadlines use the given clock. An
 * entry leaves the table exactly once, so that each request is answered exactly once.
 *
 * @module
 */

import { MCP_LIMITS } from "core/limits/mcp.ts";
import type { Clock } from "core/ports/clock.ts";
import { isId, type Message, type MessageId } from "units/mcp/message.ts";
import { isRecord } from "core/text/json_object.ts";

/** One unanswered request. */
export interface Pending {
  readonly id: MessageId;
  readonly method: string;
  readonly tool: string | undefined;
}

interface Entry extends Pending {
  readonly progressToken: MessageId | undefined;
  /** Deadline on the monotonic clock; infinite for requests that may stay open. */
  due: number;
}

/** Table of open requests. */
export interface PendingTable {
  readonly size: number;
  has(id: MessageId): boolean;
  add(request: Extract<Message, { kind: "request" }>): void;
  /** Removes and returns an entry; undefined when absent (the answer is late or invented). */
  take(id: MessageId): Pending | undefined;
  /** Removes and returns all entries, oldest first. */
  takeAll(): readonly Pending[];
  /** The server waits for an answer from a person: no deadline runs until `resume`. */
  hold(): void;
  /** The person has answered: every deadline restarts. */
  resume(): void;
  /** Progress of a call: its deadline restarts. */
  onProgress(token: unknown): void;
}

/** Maximum number of open requests per client. */
export const PENDING_MAX = 1024;
/** Methods without a deadline. */
const OPEN_ENDED: ReadonlySet<string> = new Set(["subscriptions/listen"]);

/**
 * Creates a table; `onExpired` receives each request that timed out, after its removal. One timer
 * serves all deadlines: they have equal length, so the oldest is the next.
 */
export function createPendingTable(
  clock: Pick<Clock, "after" | "monotonic">,
  onExpired: (entry: Pending) => void,
): PendingTable {
  /** In the order of their deadlines. */
  const entries = new Map<MessageId, Entry>();
  const byToken = new Map<MessageId, Entry>();
  const limitMs = MCP_LIMITS.callSeconds * 1000;
  let stop: (() => void) | undefined;
  let isHeld = false;

  const check = () => {
    stop = undefined;
    if (isHeld) return;
    const now = clock.monotonic();
    for (const entry of [...entries.values()]) {
      if (entry.due === Infinity) continue;
      if (entry.due > now) {
        stop = clock.after(entry.due - now, check);
        break;
      }
      if (take(entry.id) !== undefined) onExpired(entry);
    }
  };
  const arm = (entry: Entry) => {
    if (OPEN_ENDED.has(entry.method)) return;
    entry.due = clock.monotonic() + limitMs;
    stop ??= clock.after(limitMs, check);
  };
  const take = (id: MessageId): Pending | undefined => {
    const entry = entries.get(id);
    if (entry === undefined) return undefined;
    entries.delete(id);
    if (entry.progressToken !== undefined) byToken.delete(entry.progressToken);
    return entry;
  };

  return {
    get size() {
      return entries.size;
    },
    has: (id) => entries.has(id),
    add(request) {
      const { id, method, params } = request;
      const tool = method === "tools/call" && typeof params["name"] === "string"
        ? params["name"]
        : undefined;
      const progressToken = tokenOf(params);
      const entry: Entry = { id, method, tool, progressToken, due: Infinity };
      entries.set(id, entry);
      if (progressToken !== undefined) byToken.set(progressToken, entry);
      arm(entry);
    },
    take,
    hold() {
      isHeld = true;
    },
    resume() {
      if (!isHeld) return;
      isHeld = false;
      for (const entry of entries.values()) arm(entry);
    },
    takeAll() {
      stop?.();
      stop = undefined;
      return [...entries.keys()].flatMap((id) => take(id) ?? []);
    },
    onProgress(token) {
      const entry = isId(token) ? byToken.get(token) : undefined;
      if (entry === undefined) return;
      entries.delete(entry.id);
      entries.set(entry.id, entry);
      arm(entry);
    },
  };
}

function tokenOf(params: Readonly<Record<string, unknown>>): MessageId | undefined {
  const meta = params["_meta"];
  const token = isRecord(meta) ? meta["progressToken"] : undefined;
  return isId(token) ? token : undefined;
}
