/**
 * One MCP server of the agent: connected when first needed, reconnected after a loss, and closed
 * with the runtime. Every failure is returned as text; nothing is thrown.
 *
 * @module
 */

import type { Client, Transport } from "@modelcontextprotocol/client";
import { errorText } from "core/errors.ts";
import { MCP_LIMITS } from "core/limits/mcp.ts";
import { boundAnswer } from "core/net/bounded_answer.ts";
import type { Clock } from "core/ports/clock.ts";
import type { HttpClient } from "core/ports/http_client.ts";
import type { Log } from "core/ports/log.ts";
import type { Processes } from "core/ports/processes.ts";
import { err, ok, type Result } from "core/result.ts";
import { childTransport } from "units/agent_loop/mcp/child_transport.ts";
import type { ServerConfig } from "units/agent_loop/mcp/config.ts";
import type { ServerTool, ToolsCache } from "units/agent_loop/mcp/tools_cache.ts";
import { toOutcome } from "units/agent_loop/mcp/result_text.ts";
import { failed, type ToolOutcome } from "units/agent_loop/tools/tool.ts";

/** Ports of a server connection. */
export interface ServerPorts {
  readonly processes: Processes;
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly log: Log;
  /** Environment that every server receives besides its own. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** A server, connected or not. */
export interface McpServer {
  readonly name: string;
  /** Connects if needed and returns the tools; concurrent calls share one attempt. */
  open(): Promise<Result<readonly ServerTool[], string>>;
  /** Loads the cached tools; false when there are none. Starts nothing. */
  recall(): Promise<boolean>;
  /**
   * Tools of the last successful `open` or `recall`; they stay while the server is not connected.
   */
  tools(): readonly ServerTool[];
  call(tool: string, input: unknown, signal: AbortSignal): Promise<ToolOutcome>;
  close(): Promise<void>;
}

interface Connection {
  readonly client: Client;
  readonly ending: () => Promise<string>;
}

const DESCRIPTION_LENGTH_MAX = 4_096;

/** An idle connection is closed after this time, which also ends the server's process. */
const IDLE_MS = 15 * 60_000;

/** Creates a server; starts nothing before `open` or `call`. */
export function mcpServer(
  config: ServerConfig,
  ports: ServerPorts,
  cache?: ToolsCache,
): McpServer {
  return new LazyServer(config, ports, cache);
}

class LazyServer implements McpServer {
  readonly name: string;
  readonly #config: ServerConfig;
  readonly #ports: ServerPorts;
  readonly #cache: ToolsCache | undefined;
  #current: Promise<Result<Connection, string>> | undefined;
  #known: readonly ServerTool[] = [];
  #isClosed = false;
  #isRecalled = false;
  #calls = 0;
  #stopIdle = () => {};

  constructor(config: ServerConfig, ports: ServerPorts, cache: ToolsCache | undefined) {
    this.name = config.name;
    this.#config = config;
    this.#ports = ports;
    this.#cache = cache;
  }

  tools(): readonly ServerTool[] {
    return this.#known;
  }

  async open(): Promise<Result<readonly ServerTool[], string>> {
    if (this.#isClosed) return err("the runtime is ending");
    const connected = await this.#connection();
    if (!connected.ok) return connected;
    return await this.#list(connected.value);
  }

  async recall(): Promise<boolean> {
    const found = await this.#cache?.load();
    if (found === undefined) return false;
    this.#known = this.#visible(found);
    this.#isRecalled = true;
    return true;
  }

  async call(tool: string, input: unknown, signal: AbortSignal): Promise<ToolOutcome> {
    if (this.#isClosed) return failed("The runtime is ending");
    this.#calls++;
    this.#stopIdle();
    try {
      const connected = await this.#connection();
      if (!connected.ok) return failed(unavailable(this.name, connected.error));
      // The cached list may be outdated; refresh it for the next step.
      if (this.#isRecalled) void this.#list(connected.value);
      this.#isRecalled = false;
      return await callTool(connected.value, { server: this.name, tool, input, signal });
    } finally {
      this.#calls--;
      this.#armIdle();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopIdle();
    const connected = await this.#current;
    if (connected?.ok) await connected.value.client.close().catch(() => {});
  }

  #connection(): Promise<Result<Connection, string>> {
    if (this.#current !== undefined) return this.#current;
    const attempt = connect(this.#config, this.#ports, {
      onLost: () => {
        if (this.#current === attempt) this.#current = undefined;
      },
      onListChanged: () => {
        void attempt.then((connected) => connected.ok ? this.#list(connected.value) : undefined);
      },
    });
    this.#current = attempt;
    void attempt.then((connected) => {
      // A failed attempt is not kept, so the next call connects again.
      if (!connected.ok && this.#current === attempt) this.#current = undefined;
      this.#armIdle();
    });
    return attempt;
  }

  #armIdle(): void {
    this.#stopIdle();
    if (this.#calls > 0 || this.#isClosed) return;
    this.#stopIdle = this.#ports.clock.after(IDLE_MS, () => {
      const idle = this.#current;
      this.#current = undefined;
      void idle?.then((connected) => connected.ok ? connected.value.client.close() : undefined)
        .catch(() => {/* it ended by itself */});
    });
  }

  /** Requests the list of tools again, and caches it for the next process. */
  async #list(of: Connection): Promise<Result<readonly ServerTool[], string>> {
    const listed = await listTools(of);
    if (!listed.ok) return listed;
    this.#known = this.#visible(listed.value);
    await this.#cache?.save(listed.value);
    return ok(this.#known);
  }

  #visible(tools: readonly ServerTool[]): readonly ServerTool[] {
    return tools.filter((each) => !this.#config.isHidden(each.name));
  }
}

/**
 * Describes a server that cannot be used, with a command to run. `agent` is `self` for the model; a
 * person needs the agent's name.
 */
export function unavailable(name: string, reason: string, agent = "self"): string {
  const hint = /^[a-z][a-z0-9-]*$/.test(name) ? ` (try: fleetctl mcp doctor ${name} ${agent})` : "";
  return `MCP "${name}" is not available: ${reason}${hint}`;
}

async function connect(
  config: ServerConfig,
  ports: ServerPorts,
  on: { readonly onLost: () => void; readonly onListChanged: () => void },
): Promise<Result<Connection, string>> {
  const opened = await openTransport(config, ports);
  if (!opened.ok) return opened;
  const { transport, ending } = opened.value;
  // Imported with the first server, so that an agent without servers, or an idle one, does not load
  // it.
  const { Client } = await import("@modelcontextprotocol/client");
  const client = new Client({ name: "fleetctl-runtime", version: "0.1.0" }, {
    versionNegotiation: { mode: "auto", probe: { timeoutMs: MCP_LIMITS.probeMs } },
  });
  client.onclose = on.onLost;
  client.setNotificationHandler("notifications/tools/list_changed", on.onListChanged);
  try {
    await client.connect(transport, { timeout: MCP_LIMITS.handshakeSeconds * 1000 });
    return ok({ client, ending });
  } catch (error) {
    const isLost = isConnectionLost(error);
    const why = isLost ? await ending() : `its handshake failed: ${cleanText(error)}`;
    await client.close().catch(() => {});
    await transport.close().catch(() => {});
    return err(why);
  }
}

async function openTransport(
  config: ServerConfig,
  ports: ServerPorts,
): Promise<
  Result<{ readonly transport: Transport; readonly ending: () => Promise<string> }, string>
> {
  if (config.kind === "http") {
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    const transport = new StreamableHTTPClientTransport(config.url, {
      requestInit: { headers: { ...config.headers } },
      fetch: async (url, init) =>
        boundAnswer(await ports.http.fetch(url, init), MCP_LIMITS.messageBytesMax),
    });
    return ok({ transport, ending: () => Promise.resolve("the connection was lost") });
  }
  try {
    const child = await ports.processes.spawn({
      command: config.command,
      args: config.args,
      env: { ...ports.env, ...config.env },
      cwd: config.cwd ?? ports.cwd,
    });
    const transport = childTransport(child, config.name, ports);
    return ok({ transport, ending: transport.ending });
  } catch (error) {
    return err(`it cannot be started: ${errorText(error)}`);
  }
}

async function listTools(
  connection: Connection,
): Promise<Result<readonly ServerTool[], string>> {
  try {
    if (connection.client.getServerCapabilities()?.tools === undefined) return ok([]);
    const { tools } = await connection.client.listTools(undefined, {
      timeout: MCP_LIMITS.handshakeSeconds * 1000,
    });
    return ok(tools.map((each) => ({
      name: each.name,
      description: (each.description ?? each.title ?? each.name).slice(0, DESCRIPTION_LENGTH_MAX),
      inputSchema: each.inputSchema as Readonly<Record<string, unknown>>,
      isReadOnly: each.annotations?.readOnlyHint === true,
    })));
  } catch (error) {
    const why = isConnectionLost(error) ? await connection.ending() : cleanText(error);
    return err(`its tools cannot be listed: ${why}`);
  }
}

async function callTool(
  connection: Connection,
  call: {
    readonly server: string;
    readonly tool: string;
    readonly input: unknown;
    readonly signal: AbortSignal;
  },
): Promise<ToolOutcome> {
  const { server, tool, input, signal } = call;
  try {
    const result = await connection.client.callTool(
      { name: tool, arguments: (input ?? {}) as Record<string, unknown> },
      {
        signal,
        timeout: MCP_LIMITS.callSeconds * 1000,
        // A call that waits for a human reports progress repeatedly, so that time does not count.
        resetTimeoutOnProgress: true,
        onprogress: () => {/* progress restarts the deadline */},
      },
    );
    return toOutcome(result);
  } catch (error) {
    if (signal.aborted) return { status: "stopped", text: "[cancelled]" };
    if (isConnectionLost(error)) {
      return failed(`MCP "${server}" disconnected during the call: ${await connection.ending()}`);
    }
    return failed(`MCP "${server}" answered with an error: ${cleanText(error)}`);
  }
}

function isConnectionLost(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === "CONNECTION_CLOSED" || code === "NOT_CONNECTED" || code === "SEND_FAILED" ||
    /connection closed|not connected|broken pipe|epipe/i.test(errorText(error));
}

/** Returns an error's text on one line, without URL queries, which may contain secrets. */
function cleanText(error: unknown): string {
  return errorText(error).replace(/\s+/g, " ").replace(/(https?:\/\/[^\s?]+)\?\S*/g, "$1?…")
    .slice(0, 600);
}
