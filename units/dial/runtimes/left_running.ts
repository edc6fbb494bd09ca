/**
 * Finds a process that a program has left running, such as a development server, a build or a
 * watched command: it would end with the program. Processes that ran when the program became ready
 * count as part of it. MCP servers do not count, because they start again with it. Reads only.
 *
 * @module
 */

import type { Child, FamilyMember } from "core/ports/processes.ts";
import type { McpEntry } from "core/runtimes/mcp_entries.ts";

/** Watches the processes of one program. */
export interface LeftRunning {
  /** Call when the program is ready: processes that run now do not count as left. */
  ready(): void;
  /** Names a process that would be lost with the program; undefined when there is none. */
  find(): string | undefined;
}

/** The MCP proxy, as a launcher, as a bundle, or from the source tree. */
const PROXY = /(^|\/)(fleetctl-mcp(\.js)?|units\/mcp\/main\.ts)$/;

/** Creates the watch; `entries` are the MCP servers that the program may start. */
export function createLeftRunning(
  child: Pick<Child, "family">,
  entries: readonly McpEntry[],
): LeftRunning {
  let own: ReadonlySet<string> = new Set();
  return {
    ready() {
      own = new Set((child.family() ?? []).map(keyOf));
    },
    find() {
      const family = child.family();
      if (family === undefined) return "its processes cannot be seen";
      const servers = serversOf(family, entries);
      const left = family.find((each) => !own.has(keyOf(each)) && !servers.has(each.pid));
      // Arguments may contain secrets, so only the program is named.
      return left === undefined
        ? undefined
        : `it still runs ${JSON.stringify(baseName(left.args[0] ?? ""))} (process ${left.pid})`;
    },
  };
}

/** Returns the ids of MCP servers and of all processes that they started. */
function serversOf(
  family: readonly FamilyMember[],
  entries: readonly McpEntry[],
): ReadonlySet<number> {
  const servers = new Set(
    family.filter(({ args }) => isServer(args, entries)).map(({ pid }) => pid),
  );
  for (let before = -1; before !== servers.size;) {
    before = servers.size;
    for (const { pid, parent } of family) if (servers.has(parent)) servers.add(pid);
  }
  return servers;
}

function isServer(args: readonly string[], entries: readonly McpEntry[]): boolean {
  return args.some((arg) => PROXY.test(arg)) || entries.some((entry) => {
    if (entry.kind !== "stdio") return false;
    // An interpreter may precede the command: `node /usr/bin/npx -y server`.
    const own = args.slice(-entry.args.length - 1);
    return baseName(own[0] ?? "") === baseName(entry.command) &&
      own.slice(1).every((arg, at) => arg === entry.args[at]);
  });
}

function keyOf({ pid, start }: FamilyMember): string {
  return `${pid}:${start}`;
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
