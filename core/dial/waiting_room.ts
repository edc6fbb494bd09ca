/**
 * Who may wait for registration at the dial-in listener: a share for each address and one bound for
 * all. A newcomer always gets in; when there is no room, the oldest of the address that holds most
 * goes, because a dial unit registers at once and only a connection that does not
 * stays to grow old.
 *
 * @module
 */

import { DIAL_LIMITS } from "core/limits/dial.ts";
import { clientKey, type IpAddress, parsePeer } from "core/net/ip.ts";

/** The connections that have not registered yet. */
export interface WaitingRoom {
  size(): number;
  /**
   * Lets one in; `evict` drops it to make room. Returns what takes it out again, any
   * number of times.
   */
  enter(peer: string, evict: () => void): () => void;
}

interface Seat {
  readonly evict: () => void;
}

/** Makes an empty room. */
export function createWaitingRoom(onEvict: (peer: string) => void): WaitingRoom {
  // By address; a set keeps the order of coming.
  const byAddress = new Map<string, Set<Seat>>();
  let size = 0;

  function leave(address: string, seat: Seat): void {
    const seats = byAddress.get(address);
    if (!seats?.delete(seat)) return;
    size--;
    if (seats.size === 0) byAddress.delete(address);
  }

  function evictOldest(address: string): void {
    const [oldest] = byAddress.get(address) ?? [];
    if (oldest === undefined) return;
    leave(address, oldest);
    onEvict(address);
    oldest.evict();
  }

  return {
    size: () => size,
    enter: (peer, evict) => {
      const address = addressOf(peer);
      const share = address === LOOPBACK
        ? DIAL_LIMITS.unregisteredLoopbackMax
        : DIAL_LIMITS.unregisteredPerAddressMax;
      if ((byAddress.get(address)?.size ?? 0) >= share) evictOldest(address);
      else if (size >= DIAL_LIMITS.unregisteredConnectionsMax) evictOldest(fullest(byAddress));
      const seat = { evict };
      const seats = byAddress.get(address) ?? new Set();
      byAddress.set(address, seats.add(seat));
      size++;
      return () => leave(address, seat);
    },
  };
}

const LOOPBACK = "loopback";

/** One text for all addresses of one client: all of loopback, an IPv4 address, an IPv6 /64. */
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

/** The address that holds most; among equals the one that has been here longest. */
function fullest(byAddress: ReadonlyMap<string, ReadonlySet<Seat>>): string {
  let most = { address: "", count: 0 };
  for (const [address, { size: count }] of byAddress) {
    if (count > most.count) most = { address, count };
  }
  return most.address;
}
