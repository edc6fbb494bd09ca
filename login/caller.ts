/**
 * Who is at the other end of a request: address of the client, scheme and host as its browser sees
 * them. Forwarding headers count only from peers in `WEBVIEW_TRUSTED_PROXIES` (spec "Login
 * drivers"); what cannot be parsed is not there. No I/O.
 *
 * @module
 */

import type { HeaderReader } from "core/header_list.ts";
import { LOGIN_LIMITS } from "core/limits.ts";
import {
  clientKeys,
  holds,
  type IpAddress,
  type IpNetwork,
  parseIp,
  parsePeer,
  printIp,
} from "core/ip.ts";

/** The other end of a request. */
export interface Caller {
  /** Address as text, for logs and for the cockpit. */
  readonly address: string;
  /** One text for all addresses of one client, then those of the networks around it. */
  readonly keys: readonly string[];
  readonly scheme: "http" | "https";
  /** `host` or `host:port` as the browser has it; undefined when the request has none that is sane. */
  readonly host: string | undefined;
  /** The peer is a proxy of ours, which may have put another name in `Host`. */
  readonly isProxied: boolean;
  /** `X-Forwarded-For` for the cockpit. */
  readonly forwardedFor: string;
}

const HOST =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;
const UNKNOWN_KEY = "unknown";

/** Finds out who sends a request. */
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
 * Tells whether a host is one that people may have for this server: a name that somebody else's DNS
 * leads here must not make their page ours (DNS rebinding). Addresses cannot be led anywhere.
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

/** The other end of a connection. */
interface Near {
  readonly address: IpAddress | undefined;
  readonly text: string;
  readonly keys: readonly string[];
  readonly isTrusted: boolean;
}

/** Connections that are remembered: one peer asks many times. */
const NEAR_MAX = 1_000;
const nears = new WeakMap<readonly IpNetwork[], Map<string, Near>>();

function peerOf(peer: string, trusted: readonly IpNetwork[]): Near {
  let known = nears.get(trusted);
  if (known === undefined) nears.set(trusted, known = new Map());
  const found = known.get(peer);
  if (found !== undefined) return found;
  const address = parsePeer(peer);
  const near: Near = {
    address,
    text: address === undefined ? UNKNOWN_KEY : printIp(address),
    keys: address === undefined ? [UNKNOWN_KEY] : clientKeys(address),
    isTrusted: address !== undefined && isIn(trusted, address),
  };
  if (known.size >= NEAR_MAX) known.clear();
  known.set(peer, near);
  return near;
}

/** Names the client whose connection this is; undefined for a proxy of ours. */
export function clientOfPeer(peer: string, trusted: readonly IpNetwork[]): string | undefined {
  const { isTrusted, keys } = peerOf(peer, trusted);
  return isTrusted ? undefined : keys[0];
}

/** Returns the name of a host, without its port and in lowercase. */
export function hostName(host: string): string {
  return host.toLowerCase().replace(/:\d{1,5}$/, "");
}

/** The nearest hop that is no proxy of ours; the farthest when all are. */
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

/** The hops of `X-Forwarded-For` from the nearest on, up to the first that cannot be parsed. */
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

/** The last value is that of the nearest proxy. */
function lastOf(header: string | null): string | undefined {
  const last = header?.split(",").at(-1)?.trim().toLowerCase();
  return last === "" ? undefined : last;
}

function isIn(networks: readonly IpNetwork[], address: IpAddress): boolean {
  return networks.some((network) => holds(network, address));
}
