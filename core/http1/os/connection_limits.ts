/**
 * Limits the connections of a listener, in total and per client. At the limit it evicts idle
 * connections before it refuses new ones. A connection with a request in progress is evicted only
 * if its body, or the peer's reading of the answer, has been slow for long. So slow clients cannot
 * exclude others, and descriptors stay bounded. Knows nothing about HTTP.
 *
 * @module
 */

import type { Wire } from "core/http1/os/wire.ts";
import type { WIRE_LIMITS } from "core/http1/wire_limits.ts";

/** Maximum concurrent connections, in total and per client. */
export type ConnectionBounds = Readonly<
  Record<keyof Pick<typeof WIRE_LIMITS, "connectionsMax" | "connectionsOfOneMax">, number>
>;

/** Checks of one body, or of one stalled write, after which it is slow: about ten seconds. */
const SLOW_CHECKS = 4;
/** Minimum time between two searches for an evictable connection, which scan all of them. */
const SEARCH_AGAIN_MS = 100;

/** The limits and connections of one listener. */
export class ConnectionLimits {
  readonly #bounds: ConnectionBounds;
  readonly #now: () => number;
  /** Connections in the order of their arrival, with their clients. */
  readonly #all = new Map<Wire, string | undefined>();
  readonly #ofOne = new Map<string, Set<Wire>>();
  #fullUntilMs = -Infinity;

  constructor(bounds: ConnectionBounds, now: () => number) {
    this.#bounds = bounds;
    this.#now = now;
  }

  get size(): number {
    return this.#all.size;
  }

  /**
   * Adds a connection, and evicts another if necessary; returns false if it must be refused.
   */
  admit(wire: Wire, client: string | undefined): boolean {
    if (!this.#hasRoomFor(client)) return false;
    this.#all.set(wire, client);
    if (client === undefined) return true;
    const own = this.#ofOne.get(client) ?? new Set();
    own.add(wire);
    this.#ofOne.set(client, own);
    return true;
  }

  /** Removes a closed connection. */
  delete(wire: Wire): void {
    const client = this.#all.get(wire);
    this.#all.delete(wire);
    const own = client === undefined ? undefined : this.#ofOne.get(client);
    own?.delete(wire);
    if (client !== undefined && own?.size === 0) this.#ofOne.delete(client);
  }

  /** Closes up to `count` idle connections, oldest first; returns whether there was one. */
  makeRoom(count: number): boolean {
    let closed = 0;
    while (closed < count && this.#evictOne(this.#all.keys(), isWaiting)) closed++;
    return closed > 0;
  }

  #hasRoomFor(client: string | undefined): boolean {
    const own = client === undefined ? undefined : this.#ofOne.get(client);
    if (own !== undefined && own.size >= this.#bounds.connectionsOfOneMax) {
      return this.#evictOne(own, isWaiting);
    }
    if (this.#all.size < this.#bounds.connectionsMax) return true;
    const now = this.#now();
    if (now < this.#fullUntilMs) return false;
    if (this.#evictOne(this.#all.keys(), isWaiting)) return true;
    if (this.#evictOne(this.#all.keys(), isSlow)) return true;
    this.#fullUntilMs = now + SEARCH_AGAIN_MS;
    return false;
  }

  #evictOne(wires: Iterable<Wire>, isEvictable: (wire: Wire) => boolean): boolean {
    for (const wire of wires) {
      if (!isEvictable(wire)) continue;
      this.delete(wire);
      wire.close();
      return true;
    }
    return false;
  }
}

function isWaiting({ waiting }: Wire): boolean {
  return waiting === "head" || waiting === "end";
}

function isSlow({ waiting, checks, bodyChecks }: Wire): boolean {
  if (waiting === "write" && checks >= SLOW_CHECKS) return true;
  return bodyChecks !== undefined && bodyChecks >= SLOW_CHECKS;
}
