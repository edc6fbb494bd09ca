/**
 * The connections that a listener holds: how many of all and of one client, and which of them makes room
 * when they are too many. One that waits for a request, or for its peer to leave, goes before anybody is
 * turned away; one with a request under way never does, unless its body has been coming for long, or its
 * answer has not been taken for as long. So slow clients cannot keep others out, and descriptors stay
 * bounded. Knows nothing of HTTP.
 *
 * @module
 */

import type { Wire } from "core/os/http1_wire.ts";
import type { WIRE_LIMITS } from "core/wire_limits.ts";

/** How many connections at once, all together and of one client. */
export type CrowdBounds = Readonly<
  Record<keyof Pick<typeof WIRE_LIMITS, "connectionsMax" | "connectionsOfOneMax">, number>
>;

/** Looks after which a body, or an answer, that did not move is slow: ten seconds at the usual pace. */
const SLOW_LOOKS = 4;
/** When nobody can make room, the next look is this much later; a look goes through all. */
const LOOK_AGAIN_MS = 100;

/** The connections of one listener. */
export class Crowd {
  readonly #bounds: CrowdBounds;
  readonly #now: () => number;
  /** Connections in the order in which they came, with their clients. */
  readonly #all = new Map<Wire, string | undefined>();
  readonly #ofOne = new Map<string, Set<Wire>>();
  #fullUntilMs = -Infinity;

  constructor(bounds: CrowdBounds, now: () => number) {
    this.#bounds = bounds;
    this.#now = now;
  }

  get size(): number {
    return this.#all.size;
  }

  /** Takes a connection in, at the cost of another where it must; false when it is to be turned away. */
  admit(wire: Wire, client: string | undefined): boolean {
    if (!this.#hasRoomFor(client)) return false;
    this.#all.set(wire, client);
    if (client === undefined) return true;
    const own = this.#ofOne.get(client) ?? new Set();
    own.add(wire);
    this.#ofOne.set(client, own);
    return true;
  }

  /** Forgets a connection that has ended. */
  delete(wire: Wire): void {
    const client = this.#all.get(wire);
    this.#all.delete(wire);
    const own = client === undefined ? undefined : this.#ofOne.get(client);
    own?.delete(wire);
    if (client !== undefined && own?.size === 0) this.#ofOne.delete(client);
  }

  /** Closes up to `count` of those that wait, the oldest first; tells whether there was one. */
  makeRoom(count: number): boolean {
    let closed = 0;
    while (closed < count && this.#closeOne(this.#all.keys(), isWaiting)) closed++;
    return closed > 0;
  }

  #hasRoomFor(client: string | undefined): boolean {
    const own = client === undefined ? undefined : this.#ofOne.get(client);
    if (own !== undefined && own.size >= this.#bounds.connectionsOfOneMax) {
      return this.#closeOne(own, isWaiting);
    }
    if (this.#all.size < this.#bounds.connectionsMax) return true;
    const now = this.#now();
    if (now < this.#fullUntilMs) return false;
    if (this.#closeOne(this.#all.keys(), isWaiting)) return true;
    if (this.#closeOne(this.#all.keys(), isSlow)) return true;
    this.#fullUntilMs = now + LOOK_AGAIN_MS;
    return false;
  }

  #closeOne(wires: Iterable<Wire>, mayGo: (wire: Wire) => boolean): boolean {
    for (const wire of wires) {
      if (!mayGo(wire)) continue;
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

function isSlow({ waiting, looks, bodyLooks }: Wire): boolean {
  if (waiting === "taker" && looks >= SLOW_LOOKS) return true;
  return bodyLooks !== undefined && bodyLooks >= SLOW_LOOKS;
}
