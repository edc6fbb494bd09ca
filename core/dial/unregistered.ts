/**
 * Limits the connections at the dial-in listener that have not registered yet: per address and in
 * total. A new connection is always accepted. At the limit of its address, that address loses its
 * oldest connection; at the total limit, the address with the most connections does. A dial unit
 * registers at once, so only idle connections grow old.
 *
 * @module
 */

import { DIAL_LIMITS } from "core/limits/dial.ts";
import { clientKey, type IpAddress, parsePeer } from "core/net/ip.ts";

/** The unregistered connections. */
export interface UnregisteredConnections {
  size(): number;
  /**
   * Adds a connection; `evict` is called to drop it if another needs the room. Returns an
   * idempotent function that removes it.
   */
  add(peer: string, evict: () => void): () => void;
}

interface Entry {
  readonly evict: () => void;
}

/** Creates an empty registry of unregistered connections. */
export function createUnregisteredConnections(
  onEvict: (peer: string) => void,
): UnregisteredConnections {
  // By address; a set keeps insertion order, so the oldest is first.
  const byAddress = new Map<string, Set<Entry>>();
  let size = 0;

  function remove(address: string, entry: Entry): void {
    const entries = byAddress.get(address);
    if (!entries?.delete(entry)) return;
    size--;
    if (entries.size === 0) byAddress.delete(address);
  }

  function evictOldest(address: string): void {
    const [oldest] = byAddress.get(address) ?? [];
    if (oldest === undefined) return;
    remove(address, oldest);
    onEvict(address);
    oldest.evict();
  }

  return {
    size: () => size,
    add: (peer, evict) => {
      const address = addressOf(peer);
      const share = address === LOOPBACK
        ? DIAL_LIMITS.unregisteredLoopbackMax
        : DIAL_LIMITS.unregisteredPerAddressMax;
      if ((byAddress.get(address)?.size ?? 0) >= share) evictOldest(address);
      else if (size >= DIAL_LIMITS.unregisteredConnectionsMax) evictOldest(fullest(byAddress));
      const entry = { evict };
      const entries = byAddress.get(address) ?? new Set();
      byAddress.set(address, entries.add(entry));
      size++;
      return () => remove(address, entry);
    },
  };
}

const LOOPBACK = "loopback";

/** Returns one key for all addresses of a client: all of loopback, an IPv4 address, an IPv6 /64. */
function addressOf(peer: string): string {
  const address = parsePeer(peer);
  if (address === undefined) return peer;
  return isLoopback(address) ? LOOPBACK : clientKey(address);
}

/** 127.0.0.0/8 or ::1. */
function isLoopback(address: IpAddress): boolean {
  return address.length === 4
    ? address[0] === 127
    : address.every((byte, index) => byte === (index === 15 ? 1 : 0));
}

/** Returns the address with the most connections; among equals, the one present the longest. */
function fullest(byAddress: ReadonlyMap<string, ReadonlySet<Entry>>): string {
  let most = { address: "", count: 0 };
  for (const [address, { size: count }] of byAddress) {
    if (count > most.count) most = { address, count };
  }
  return most.address;
}
