/**
 * The MCP stdio transport over a `Child`: one JSON-RPC message per line, each within the size
 * limit. Keeps the server's last line of stderr, because it explains why the server ended.
 *
 * @module
 */

import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { brokenText } from "core/mcp/broken_message.ts";
import { errorText } from "core/errors.ts";
import { MCP_LIMITS } from "core/limits/mcp.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { Child } from "core/ports/processes.ts";
import { explainingLine } from "core/text/stderr_summary.ts";
import { proxyRecord } from "units/agent_loop/mcp/proxy_record.ts";
import { parseJsonLine } from "core/text/json_lines.ts";
import { LineTooLong, readLines } from "core/text/lines.ts";

const STDERR_LINES = { lineBytesMax: 16 * 1024, longLines: "split" } as const;
/** Time that a server has after its input ended, before SIGTERM, and again before SIGKILL. */
const CLOSE_MS = 1_000;
/** How long to wait for the rest of stderr after a server has ended. */
const STDERR_DRAIN_MS = 200;

/** A transport that can state how its server ended. */
export interface ChildTransport extends Transport {
  /**
   * Part of a sentence, once the connection has ended: `it ended with exit code 1: cannot open
   * socket`.
   */
  ending(): Promise<string>;
}

interface TransportState {
  readonly child: Child;
  readonly server: string;
  readonly ports: { readonly clock: Clock; readonly log: Log };
  readonly writer: WritableStreamDefaultWriter<Uint8Array>;
  /** Last line of stderr. */
  last: string;
  /** Why the connection was given up, if the server did not end by itself. */
  broken: string | undefined;
  isClosing: boolean;
}

/** Wraps a started MCP server. */
export function childTransport(
  child: Child,
  server: string,
  ports: { readonly clock: Clock; readonly log: Log },
): ChildTransport {
  const state: TransportState = {
    child,
    server,
    ports,
    writer: child.stdin.getWriter(),
    last: "",
    broken: undefined,
    isClosing: false,
  };
  const encoder = new TextEncoder();
  const stderrRead = readStderr(state);
  const transport: ChildTransport = {
    async start() {
      void receive(state, transport);
    },
    async send(message) {
      await state.writer.write(encoder.encode(`${JSON.stringify(message)}\n`));
    },
    async close() {
      if (state.isClosing) return;
      state.isClosing = true;
      await endServer(state);
      transport.onclose?.();
    },
    async ending() {
      if (state.broken !== undefined) return state.broken;
      const exit = await child.exited;
      await Promise.race([stderrRead, ports.clock.sleep(STDERR_DRAIN_MS)]);
      const how = exit.code === undefined ? `signal ${exit.signal}` : `exit code ${exit.code}`;
      return `it ended with ${how}${state.last === "" ? "" : `: ${state.last}`}`;
    },
  };
  return transport;
}

async function readStderr(state: TransportState): Promise<void> {
  try {
    for await (const line of readLines(state.child.stderr, STDERR_LINES)) {
      if (line.trim() === "") continue;
      state.last = explainingLine(line) ?? state.last;
      const record = proxyRecord(line);
      if (record === undefined) state.ports.log.debug("mcp server", { mcp: state.server, line });
      // Records of the MCP proxy go to the log at their own level, for the agent's operator.
      else state.ports.log[record.level](record.event, { ...record.fields, mcp: state.server });
    }
  } catch {
    // The pipe broke with the process; `last` keeps the line read before.
  }
}

async function receive(state: TransportState, transport: Transport): Promise<void> {
  try {
    const limits = { lineBytesMax: MCP_LIMITS.messageBytesMax };
    for await (const line of readLines(state.child.stdout, limits)) {
      const message = parseJsonLine(line);
      // Servers print banners on stdout; the SDK would end the connection because of one.
      if (message?.jsonrpc !== "2.0") {
        const why = brokenText(line);
        if (why === undefined) continue;
        state.broken = `one of its answers is unusable, ${why}`;
        break;
      }
      transport.onmessage?.(message as JSONRPCMessage);
    }
  } catch (error) {
    state.broken = error instanceof LineTooLong
      ? `it sent a message of more than ${error.lineBytesMax} bytes`
      : `its output cannot be read: ${errorText(error)}`;
  }
  if (state.isClosing) return;
  state.isClosing = true;
  // Without its output, the server is of no use.
  state.child.kill("SIGKILL");
  await state.writer.abort().catch(() => {
    // The server has already ended.
  });
  transport.onclose?.();
}

async function endServer(state: TransportState): Promise<void> {
  const { child, ports } = state;
  const stopTerm = ports.clock.after(CLOSE_MS, () => child.kill("SIGTERM"));
  const stopKill = ports.clock.after(2 * CLOSE_MS, () => child.kill("SIGKILL"));
  void state.writer.close().catch(() => {
    // The server has ended or does not read; the timers send the signals.
  });
  await child.exited;
  stopTerm();
  stopKill();
}
