/**
 * How a host asks the gateway of another host which agents are connected from it: one `GET` at the
 * dial-in listener, with a statement that the host's own dial key signs. No I/O.
 *
 * The statement names the gateway as it was dialled, the host and a moment, so that it is of no use
 * elsewhere or later. It asks for nothing but what the same host could see of its own agents.
 *
 * @module
 */

import { parseHostName } from "core/names.ts";

/** Where it is asked. */
export const HOST_AGENTS_PATH = "/host/agents";
/** How far the clocks of the two hosts may differ. */
export const STATEMENT_MS_MAX = 60_000;

const SCHEME = "Fleetctl-Host";
const HEADER = /^Fleetctl-Host ([^ ]{1,64}) (\d{13}) ([A-Za-z0-9_-]{86})$/;

/** What a host states. */
export interface HostStatement {
  readonly host: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

/** Returns the text that is signed; `gateway` is `host:port` as it was dialled. */
export function statementText({ host, atMs }: HostStatement, gateway: string): string {
  return ["fleetctl-host-agents 1", gateway, host, String(atMs)].join("\n");
}

/** Returns the `Authorization` header. */
export function printStatement({ host, atMs }: HostStatement, proof: string): string {
  return `${SCHEME} ${host} ${atMs} ${proof}`;
}

/** Parses the header; undefined for anything else. */
export function parseStatement(
  header: string | null,
): HostStatement & { readonly proof: string } | undefined {
  const [, name = "", at = "", proof = ""] = HEADER.exec(header ?? "") ?? [];
  const host = parseHostName(name);
  return host.ok ? { host: host.value, atMs: Number(at), proof } : undefined;
}
