/**
 * IP addresses and networks as bytes: parsing, containment, and the prefix that identifies one
 * client. No I/O. An IPv4-mapped IPv6 address is treated as the IPv4 address, so that it cannot
 * pass for a different one.
 *
 * @module
 */

/** An address: 4 or 16 bytes. */
export type IpAddress = Uint8Array;

/** A network, such as 10.0.0.0/8. */
export interface IpNetwork {
  readonly address: IpAddress;
  readonly bits: number;
}

/** Prefix length of the IPv6 network that one subscriber controls. */
const CLIENT_BITS_V6 = 64;
/** Prefix lengths that providers assign to one customer: a home (/56) and a site (/48). */
const WIDER_BITS_V6 = [56, 48] as const;
const MAPPED_PREFIX_BYTES = 12;
const TEXT_LENGTH_MAX = 64;

/** Parses an address without a port; undefined when the text is not an address. */
export function parseIp(text: string): IpAddress | undefined {
  if (text.length > TEXT_LENGTH_MAX) return undefined;
  const bare = text.replace(/^\[(.*)\]$/, "$1").replace(/%[A-Za-z0-9._-]+$/, "");
  const address = bare.includes(":") ? parseV6(bare) : parseV4(bare);
  return address === undefined ? undefined : unmapped(address);
}

/** Parses the address of a peer: `1.2.3.4:80`, `[::1]:80`, or an address alone. */
export function parsePeer(text: string): IpAddress | undefined {
  const bracketed = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(text);
  if (bracketed !== null) return parseIp(bracketed[1] ?? "");
  return parseIp(/^[0-9.]+:\d{1,5}$/.test(text) ? text.slice(0, text.indexOf(":")) : text);
}

/** Parses `address` or `address/bits`; undefined when the text is neither. */
export function parseNetwork(text: string): IpNetwork | undefined {
  const [, addressText = "", bitsText] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const raw = addressText.includes(":") ? parseV6(addressText) : parseV4(addressText);
  if (raw === undefined) return undefined;
  const rawBits = bitsText === undefined ? raw.length * 8 : Number(bitsText);
  if (rawBits > raw.length * 8) return undefined;
  const address = unmapped(raw);
  const bits = rawBits - (raw.length - address.length) * 8;
  return bits < 0 ? undefined : { address, bits };
}

/** Tells whether a network contains an address. */
export function contains(network: IpNetwork, address: IpAddress): boolean {
  return network.address.length === address.length &&
    masked(network.address, network.bits) === masked(address, network.bits);
}

/** Tells whether the networks together cover all IPv4 or all IPv6 addresses. */
export function coverAll(networks: readonly IpNetwork[]): boolean {
  return [4, 16].some((length) => {
    const ranges = networks.filter(({ address }) => address.length === length).map(rangeOf)
      .sort((left, right) => left.first < right.first ? -1 : 1);
    let next = 0n;
    for (const { first, end } of ranges) {
      if (first > next) return false;
      if (end > next) next = end;
    }
    return next === 1n << BigInt(length * 8);
  });
}

function rangeOf({ address, bits }: IpNetwork): { readonly first: bigint; readonly end: bigint } {
  const hostBits = BigInt(address.length * 8 - bits);
  const value = address.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  const first = (value >> hostBits) << hostBits;
  return { first, end: first + (1n << hostBits) };
}

/** Returns one text for all addresses of one client: the IPv4 address, or the IPv6 /64. */
export function clientKey(address: IpAddress): string {
  return address.length === 4 ? masked(address, 32) : masked(address, CLIENT_BITS_V6);
}

/**
 * Returns the key of a client, and for IPv6 the keys of the wider networks that the same owner may
 * control.
 */
export function clientKeys(address: IpAddress): readonly string[] {
  const own = clientKey(address);
  return address.length === 4
    ? [own]
    : [own, ...WIDER_BITS_V6.map((bits) => `${masked(address, bits)}/${bits}`)];
}

/** Prints an address; IPv6 without `::` shortening. */
export function printIp(address: IpAddress): string {
  if (address.length === 4) return address.join(".");
  const groups = Array.from(
    { length: 8 },
    (_, index) => ((address[index * 2] ?? 0) << 8 | (address[index * 2 + 1] ?? 0)).toString(16),
  );
  return groups.join(":");
}

function masked(address: IpAddress, bits: number): string {
  const kept = address.map((byte, index) => {
    const left = Math.min(8, Math.max(0, bits - index * 8));
    return byte & (0xff << (8 - left));
  });
  return `${address.length}/${kept.join(".")}`;
}

function unmapped(address: IpAddress): IpAddress {
  const isMapped = address.length === 16 && address[10] === 0xff && address[11] === 0xff &&
    address.subarray(0, 10).every((byte) => byte === 0);
  return isMapped ? address.slice(MAPPED_PREFIX_BYTES) : address;
}

function parseV4(text: string): IpAddress | undefined {
  const parts = text.split(".");
  const isGood = parts.length === 4 &&
    parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255);
  return isGood ? Uint8Array.from(parts, Number) : undefined;
}

function parseV6(text: string): IpAddress | undefined {
  const sides = text.split("::");
  if (sides.length > 2) return undefined;
  const [head, tail] = sides.map((side, index) => groupsOf(side, index === sides.length - 1));
  if (head === undefined || (sides.length === 2 && tail === undefined)) return undefined;
  const missing = 8 - head.length - (tail?.length ?? 0);
  if (sides.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const groups = [...head, ...Array<number>(missing).fill(0), ...(tail ?? [])];
  return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
}

/**
 * Returns the 16-bit groups of one side of `::`. The last group of the address may be in IPv4
 * notation.
 */
function groupsOf(side: string, isLast: boolean): number[] | undefined {
  if (side === "") return [];
  const groups: number[] = [];
  const parts = side.split(":");
  for (const [index, part] of parts.entries()) {
    if (/^[0-9A-Fa-f]{1,4}$/.test(part)) {
      groups.push(parseInt(part, 16));
      continue;
    }
    const v4 = isLast && index === parts.length - 1 ? parseV4(part) : undefined;
    if (v4 === undefined) return undefined;
    groups.push((v4[0] ?? 0) << 8 | (v4[1] ?? 0), (v4[2] ?? 0) << 8 | (v4[3] ?? 0));
  }
  return groups;
}

/** Networks that are not routed on the internet (RFC 1918, 6598, 4193, 3927, 4291, loopback). */
const PRIVATE_NETWORKS = [
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "::1/128",
  "fc00::/7",
  "fe80::/10",
].map((text) => parseNetwork(text)).filter((network) => network !== undefined);

/** Tells whether an address is reachable only from its own network. */
export function isPrivate(address: IpAddress): boolean {
  return PRIVATE_NETWORKS.some((network) => contains(network, address));
}

/** Returns the first private address that is not loopback or link-local, IPv4 before IPv6. */
export function privateAddressOf(addresses: readonly string[]): string | undefined {
  const own = addresses.filter((text) => {
    const address = parseIp(text);
    const isLoopback = text === "::1" || address?.length === 4 && address[0] === 127;
    return address !== undefined && isPrivate(address) && !isLoopback && !text.startsWith("fe80");
  });
  return own.find((text) => !text.includes(":")) ?? own[0];
}
