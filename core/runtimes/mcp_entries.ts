/**
 * The MCP entries of an agent's client config: their location in each format, and the form that a
 * driver passes to a program that does not read the file itself. Pure. The agent may have edited
 * the file.
 *
 * @module
 */

import { isRecord, parseJsonObject } from "core/text/json_object.ts";
import type { Paths } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";
import type { ClientConfigShape } from "core/runtimes/definition.ts";

/** How a program reaches one MCP server. */
export type McpServerEntry =
  | {
    readonly kind: "stdio";
    readonly command: string;
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
  }
  | {
    readonly kind: "http";
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
  };

/** One named entry. */
export type McpEntry = McpServerEntry & {
  readonly name: string;
  /**
   * Its calls pass through the MCP proxy, which checks the gate. The program need not request
   * permission.
   */
  readonly isProxied: boolean;
};

/** Largest client config that is read, in bytes. */
export const CLIENT_CONFIG_BYTES_MAX = 4 * 1024 * 1024;
const ENTRIES_MAX = 256;
/**
 * Names from which every program can build a tool name. A name with `__`, or with a final `_`,
 * could pass for another MCP: a program that allows it would treat `mcp__git__x__y` as a tool of
 * `git`.
 */
const NAME = /^[A-Za-z0-9](?!.*__)(?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9-])?$/;

/** Returns the path of the entries within a client config of this shape. */
export function mcpEntriesPath(shape: ClientConfigShape, home: string): readonly string[] {
  return shape === "runtime-a" ? ["projects", home, "mcpServers"] : ["mcpServers"];
}

/** The context of a client config file. */
export interface McpEntriesContext {
  readonly shape: ClientConfigShape;
  readonly home: string;
  readonly paths: Paths;
  readonly agent: string;
}

/** Parses a client config; omits entries that no program could use. */
export function parseMcpEntries(
  text: string,
  context: McpEntriesContext,
): Result<readonly McpEntry[], string> {
  let found: unknown = parseJsonObject(text);
  if (found === undefined) return err("it is not a JSON object");
  for (const key of mcpEntriesPath(context.shape, context.home)) {
    found = isRecord(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  if (found === undefined) return ok([]);
  if (!isRecord(found)) return err("its MCP entries are not a JSON object");
  return ok(
    Object.entries(found).slice(0, ENTRIES_MAX).flatMap(([name, value]) => {
      const server = NAME.test(name) ? readServer(value) : undefined;
      return server === undefined
        ? []
        : [{ ...server, name, isProxied: isRendered(name, server, context) }];
    }),
  );
}

function readServer(value: unknown): McpServerEntry | undefined {
  if (!isRecord(value) || value.disabled === true) return undefined;
  const { command, args = [], env = {}, url, headers = {} } = value;
  if (typeof command === "string" && command !== "" && isTexts(args) && isTextRecord(env)) {
    return { kind: "stdio", command, args, env };
  }
  return typeof url === "string" && isTextRecord(headers)
    ? { kind: "http", url, headers }
    : undefined;
}

/**
 * Tells whether an entry is as fleetctl renders it: the MCP proxy, connected to this MCP. With
 * another socket, root or permission set, or any extra variable, the gate might not apply.
 */
function isRendered(
  name: string,
  server: McpServerEntry,
  { paths, agent }: McpEntriesContext,
): boolean {
  if (server.kind !== "stdio" || server.command !== paths.program("fleetctl-mcp")) return false;
  const [verb, mcp, ...route] = server.args;
  const sockets = [paths.agentMcpSocket(name, agent), paths.sharedMcpSocket(name)];
  const isKnownRoute = route.length === 1
    ? route[0] === "--url"
    : route.length === 2 && route[0] === "--socket" && sockets.includes(route[1] ?? "");
  const env = proxyEnv(paths, agent);
  return verb === "proxy" && mcp === name && isKnownRoute &&
    Object.entries(server.env).every(([key, value]) =>
      Object.hasOwn(env, key) && env[key] === value
    );
}

/** Returns the environment variables of an entry whose command is the MCP proxy. */
export function proxyEnv(paths: Paths, agent: string): Readonly<Record<string, string>> {
  return {
    FLEETCTL_ROOT: paths.root,
    FLEETCTL_AGENT: agent,
    FLEETCTL_PERMISSIONS: paths.agentPermissions(agent),
  };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function isTextRecord(value: unknown): value is Readonly<Record<string, string>> {
  return isRecord(value) && Object.values(value).every((item) => typeof item === "string");
}

/** Returns the names of the MCPs whose calls pass through the MCP proxy. */
export function proxiedOf(entries: readonly McpEntry[]): ReadonlySet<string> {
  return new Set(entries.filter(({ isProxied }) => isProxied).map(({ name }) => name));
}

/** Prints entries as a file with a plain top-level `mcpServers`. */
export function printMcpServers(entries: readonly McpEntry[]): string {
  const mcpServers = Object.fromEntries(entries.map((entry) => [
    entry.name,
    entry.kind === "stdio"
      ? { command: entry.command, args: entry.args, env: entry.env }
      : { type: "http", url: entry.url, headers: entry.headers },
  ]));
  return `${JSON.stringify({ mcpServers }, null, 2)}\n`;
}
