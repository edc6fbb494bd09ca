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
/** From the request, or its last progress, to its deadline. */
const CALL_MS = MCP_LIMITS.callSeconds * 1000;
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
  return new DeadlineTable(clock, onExpired);
}

class DeadlineTable implements PendingTable {
  readonly #clock: Pick<Clock, "after" | "monotonic">;
  readonly #onExpired: (entry: Pending) => void;
  /** In the order of their deadlines. */
  readonly #entries = new Map<MessageId, Entry>();
  readonly #byToken = new Map<MessageId, Entry>();
  #stop: (() => void) | undefined;
  #isHeld = false;

  constructor(clock: Pick<Clock, "after" | "monotonic">, onExpired: (entry: Pending) => void) {
    this.#clock = clock;
    this.#onExpired = onExpired;
  }

  get size(): number {
    return this.#entries.size;
  }

  has(id: MessageId): boolean {
    return this.#entries.has(id);
  }

  add({ id, method, params }: Extract<Message, { kind: "request" }>): void {
    const tool = method === "tools/call" && typeof params["name"] === "string"
      ? params["name"]
      : undefined;
    const progressToken = tokenOf(params);
    const entry: Entry = { id, method, tool, progressToken, due: Infinity };
    this.#entries.set(id, entry);
    if (progressToken !== undefined) this.#byToken.set(progressToken, entry);
    this.#arm(entry);
  }

  take(id: MessageId): Pending | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    this.#entries.delete(id);
    if (entry.progressToken !== undefined) this.#byToken.delete(entry.progressToken);
    return entry;
  }

  takeAll(): readonly Pending[] {
    this.#stop?.();
    this.#stop = undefined;
    return [...this.#entries.keys()].flatMap((id) => this.take(id) ?? []);
  }

  hold(): void {
    this.#isHeld = true;
  }

  resume(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    for (const entry of this.#entries.values()) this.#arm(entry);
  }

  onProgress(token: unknown): void {
    const entry = isId(token) ? this.#byToken.get(token) : undefined;
    if (entry === undefined) return;
    this.#entries.delete(entry.id);
    this.#entries.set(entry.id, entry);
    this.#arm(entry);
  }

  #arm(entry: Entry): void {
    if (OPEN_ENDED.has(entry.method)) return;
    entry.due = this.#clock.monotonic() + CALL_MS;
    this.#stop ??= this.#clock.after(CALL_MS, () => this.#check());
  }

  /** Expires the entries that are due, and waits for the next one. */
  #check(): void {
    this.#stop = undefined;
    if (this.#isHeld) return;
    const now = this.#clock.monotonic();
    for (const entry of [...this.#entries.values()]) {
      if (entry.due === Infinity) continue;
      if (entry.due > now) {
        this.#stop = this.#clock.after(entry.due - now, () => this.#check());
        break;
      }
      if (this.take(entry.id) !== undefined) this.#onExpired(entry);
    }
  }
}

function tokenOf(params: Readonly<Record<string, unknown>>): MessageId | undefined {
  const meta = params["_meta"];
  const token = isRecord(meta) ? meta["progressToken"] : undefined;
  return isId(token) ? token : undefined;
}
