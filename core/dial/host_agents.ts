/**
 * How a host queries the gateway on another host for its own connected agents: one `GET` at the
 * dial-in listener, with a statement that the host's dial key signs. No I/O.
 *
 * The statement names the dialled gateway address, the host and the time, so it cannot be reused
 * elsewhere or later. It gives access only to the names of that host's own agents.
 *
 * @module
 */

import { parseHostName } from "core/names.ts";

/** Path of the query at the dial-in listener. */
export const HOST_AGENTS_PATH = "/host/agents";
/** Largest accepted difference, in milliseconds, of a statement's time from the gateway's clock. */
export const STATEMENT_MS_MAX = 60_000;

const SCHEME = "Fleetctl-Host";
const HEADER = /^Fleetctl-Host ([^ ]{1,64}) (\d{13}) ([A-Za-z0-9_-]{86})$/;

/** The claims of a host. */
export interface HostStatement {
  readonly host: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

/** Returns the text to sign; `gateway` is the dialled `host:port`. */
export function statementText({ host, atMs }: HostStatement, gateway: string): string {
  return ["fleetctl-host-agents 1", gateway, host, String(atMs)].join("\n");
}

/** Returns the `Authorization` header. */
export function printStatement({ host, atMs }: HostStatement, proof: string): string {
  return `${SCHEME} ${host} ${atMs} ${proof}`;
}

/** Parses the header; returns undefined if it is invalid. */
export function parseStatement(
  header: string | null,
): HostStatement & { readonly proof: string } | undefined {
  const [, name = "", at = "", proof = ""] = HEADER.exec(header ?? "") ?? [];
  const host = parseHostName(name);
  return host.ok ? { host: host.value, atMs: Number(at), proof } : undefined;
}
