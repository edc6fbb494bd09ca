/**
 * Explains why an address cannot be bound, and names the process that uses it. Runs `ss` to find
 * the process, where permitted; otherwise leaves it out. Never guesses.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { Processes } from "core/ports/processes.ts";
import { AddressFault, type ListenAddress } from "core/ports/sockets.ts";

const SS_PATHS = ["/usr/bin/ss", "/bin/ss", "/usr/sbin/ss"];
const SS_MS_MAX = 3_000;

/** Formats an address for command lines and URLs: `127.0.0.1:8731`, `[::1]:8731`. */
export function printAddress(at: ListenAddress): string {
  return at.hostname.includes(":") ? `[${at.hostname}]:${at.port}` : `${at.hostname}:${at.port}`;
}

/** Returns the fault for an error that a listener threw. */
export async function addressFault(
  at: ListenAddress,
  thrown: unknown,
  processes: Processes,
): Promise<AddressFault> {
  const reason = addressReason(thrown);
  if (reason === undefined) {
    return new AddressFault(
      at,
      "not-available",
      undefined,
      `Cannot listen on ${printAddress(at)}: ${errorText(thrown)}`,
    );
  }
  const holder = reason === "in-use" ? await findHolder(at, processes) : undefined;
  return new AddressFault(
    at,
    reason,
    holder,
    `Cannot listen on ${printAddress(at)}: ${stateOf(reason, at, holder)}`,
  );
}

function addressReason(thrown: unknown): AddressFault["reason"] | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const code = (thrown as { code?: unknown }).code;
  const name = typeof code === "string" ? code : thrown.name;
  switch (name) {
    case "EADDRINUSE":
    case "AddrInUse":
      return "in-use";
    case "EACCES":
    case "EPERM":
    case "PermissionDenied":
    case "NotCapable":
      return "not-permitted";
    case "EADDRNOTAVAIL":
    case "AddrNotAvailable":
    case "ENOTFOUND":
      return "not-available";
    default:
      return undefined;
  }
}

function stateOf(
  reason: AddressFault["reason"],
  at: ListenAddress,
  holder: string | undefined,
): string {
  switch (reason) {
    case "in-use":
      return `the port is taken${holder === undefined ? "" : ` by ${holder}`}`;
    case "not-permitted":
      return at.port < 1024
        ? "ports below 1024 are not permitted for this user"
        : "not permitted for this program";
    case "not-available":
      return "this machine has no such address";
  }
}

/** Returns the listening process as `deno (pid 812)`; undefined when it cannot be determined. */
async function findHolder(at: ListenAddress, processes: Processes): Promise<string | undefined> {
  for (const command of SS_PATHS) {
    if (Deno.permissions.querySync({ name: "run", command }).state !== "granted") continue;
    try {
      const answer = await processes.run({
        command,
        args: ["-Hltnp", `sport = :${at.port}`],
        env: { PATH: "/usr/bin:/bin:/usr/sbin", LC_ALL: "C" },
        timeoutMs: SS_MS_MAX,
      });
      if (answer.code === 0) return parseHolder(answer.stdout);
    } catch {
      // Not at this path; try the next one.
    }
  }
  return undefined;
}

/** Parses the first process from the output of `ss -Hltnp`. */
export function parseHolder(text: string): string | undefined {
  const found = /users:\(\("((?:[^"\\]|\\.)*)",pid=(\d+),/.exec(text);
  return found === null ? undefined : `${found[1]} (pid ${found[2]})`;
}
