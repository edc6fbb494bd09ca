/**
 * The caller of a request: client address, and scheme and host as the browser sees them. Forwarding
 * headers count only from peers in `WEBVIEW_TRUSTED_PROXIES`; malformed values are ignored. No I/O.
 *
 * @module
 */

import type { HeaderReader } from "core/http1/header_list.ts";
import { LOGIN_LIMITS } from "core/limits/login.ts";
import {
  clientKeys,
  contains,
  type IpAddress,
  type IpNetwork,
  parseIp,
  parsePeer,
  printIp,
} from "core/net/ip.ts";

/** The caller of a request. */
export interface Caller {
  /** Client address as text, for logs and for the cockpit. */
  readonly address: string;
  /** Keys for rate limits: the client, then the networks that contain it. */
  readonly keys: readonly string[];
  readonly scheme: "http" | "https";
  /**
   * `host` or `host:port` as the browser sees it; undefined if missing or malformed.
   */
  readonly host: string | undefined;
  /** The peer is a trusted proxy, which may have changed `Host`. */
  readonly isProxied: boolean;
  /** `X-Forwarded-For` for the cockpit. */
  readonly forwardedFor: string;
}

const HOST =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;
const UNKNOWN_KEY = "unknown";

/** Returns the caller of a request. */
export function callerOf(
  headers: HeaderReader,
  peer: string,
  trusted: readonly IpNetwork[],
): Caller {
  const near = peerOf(peer, trusted);
  const { isTrusted } = near;
  const client = isTrusted ? forwardedClient(headers, near.address, trusted) : near.address;
  const chain = isTrusted ? hopsOf(headers).map(printIp).reverse() : [];
  const isNear = client === near.address;
  return {
    address: isNear || client === undefined ? near.text : printIp(client),
    keys: isNear || client === undefined ? near.keys : clientKeys(client),
    scheme: isTrusted && lastOf(headers.get("x-forwarded-proto")) === "https" ? "https" : "http",
    host: hostOf(headers, isTrusted),
    isProxied: isTrusted,
    forwardedFor: [...chain, near.text].join(", "),
  };
}

/**
 * Returns whether a host name may refer to this server. Another site's DNS name that resolves here
 * must not make its pages same-origin (DNS rebinding). IP addresses cannot be rebound.
 */
export function isKnownHost(
  { host = "", isProxied }: Pick<Caller, "host" | "isProxied">,
  publicUrl: URL | undefined,
): boolean {
  const name = hostName(host);
  return publicUrl === undefined || isProxied || host.toLowerCase() === publicUrl.host ||
    name === publicUrl.hostname || name === "localhost" || name.endsWith(".localhost") ||
    parseIp(name) !== undefined;
}

/** The peer of a connection. */
interface Peer {
  readonly address: IpAddress | undefined;
  readonly text: string;
  readonly keys: readonly string[];
  readonly isTrusted: boolean;
}

/** Size of the cache of peers: one connection sends many requests. */
const PEERS_MAX = 1_000;
const peersByTrust = new WeakMap<readonly IpNetwork[], Map<string, Peer>>();

function peerOf(peer: string, trusted: readonly IpNetwork[]): Peer {
  let known = peersByTrust.get(trusted);
  if (known === undefined) peersByTrust.set(trusted, known = new Map());
  const found = known.get(peer);
  if (found !== undefined) return found;
  const address = parsePeer(peer);
  const near: Peer = {
    address,
    text: address === undefined ? UNKNOWN_KEY : printIp(address),
    keys: address === undefined ? [UNKNOWN_KEY] : clientKeys(address),
    isTrusted: address !== undefined && isIn(trusted, address),
  };
  if (known.size >= PEERS_MAX) known.clear();
  known.set(peer, near);
  return near;
}

/** Returns the client of a connection; undefined for a trusted proxy. */
export function clientOfPeer(peer: string, trusted: readonly IpNetwork[]): string | undefined {
  const { isTrusted, keys } = peerOf(peer, trusted);
  return isTrusted ? undefined : keys[0];
}

/** Returns the name of a host, without its port and in lowercase. */
export function hostName(host: string): string {
  return host.toLowerCase().replace(/:\d{1,5}$/, "");
}

/** The nearest hop that is not a trusted proxy; the farthest if all are trusted. */
function forwardedClient(
  headers: HeaderReader,
  peer: IpAddress | undefined,
  trusted: readonly IpNetwork[],
): IpAddress | undefined {
  const hops = hopsOf(headers);
  for (const hop of hops) if (!isIn(trusted, hop)) return hop;
  const farthest = hops.at(-1);
  if (farthest !== undefined) return farthest;
  const text = headers.has("x-forwarded-for") ? null : headers.get("x-real-ip");
  const real = text === null ? undefined : parseIp(text.trim());
  return real ?? peer;
}

/** The hops of `X-Forwarded-For`, nearest first, up to the first malformed one. */
function hopsOf(headers: HeaderReader): readonly IpAddress[] {
  if (!headers.has("x-forwarded-for")) return [];
  const parts = (headers.get("x-forwarded-for") ?? "").split(",").reverse();
  const hops: IpAddress[] = [];
  for (const part of parts.slice(0, LOGIN_LIMITS.forwardedHopsMax)) {
    const hop = parsePeer(part.trim());
    if (hop === undefined) break;
    hops.push(hop);
  }
  return hops;
}

function hostOf(headers: HeaderReader, isTrusted: boolean): string | undefined {
  const forwarded = isTrusted ? lastOf(headers.get("x-forwarded-host")) : undefined;
  const host = forwarded ?? headers.get("host") ?? "";
  return HOST.test(host) ? host : undefined;
}

/** Returns the last value, which the nearest proxy appended. */
function lastOf(header: string | null): string | undefined {
  const last = header?.split(",").at(-1)?.trim().toLowerCase();
  return last === "" ? undefined : last;
}

function isIn(networks: readonly IpNetwork[], address: IpAddress): boolean {
  return networks.some((network) => contains(network, address));
}
