/**
 * Decides whether the team-chat gateway of a host is one process or two. When chat messages and
 * agents use the same address, one listener and so one process serves both. Otherwise the receiver
 * is a separate process. Pure.
 *
 * @module
 */

import type { ListenAddress } from "core/ports/sockets.ts";
import { listenAddress } from "core/settings/setting_types.ts";

/** Tells whether two addresses conflict, so that only one listener is possible. */
export function isOneAddress(one: ListenAddress, other: ListenAddress): boolean {
  const isWildcard = ({ hostname }: ListenAddress) => hostname === "0.0.0.0" || hostname === "::";
  if (one.port !== other.port || one.port === 0) return false;
  return one.hostname === other.hostname || isWildcard(one) || isWildcard(other);
}

/** Tells whether the receiver is a separate process; the addresses are `host:port`. */
export function isReceiverSeparate(
  { listen, registerListen }: { readonly listen: string; readonly registerListen: string },
): boolean {
  const [messages, register] = [listen, registerListen].map(listenAddress().parse);
  return messages?.ok === true && register?.ok === true &&
    !isOneAddress(messages.value, register.value);
}
