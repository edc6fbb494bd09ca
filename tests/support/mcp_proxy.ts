/**
 * A proxy in this process between a client made of streams and a server on a real unix socket.
 * Tests wait only for events: a line, a connection, an end.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { LineSplitter } from "core/text/lines.ts";
import { connectWire } from "units/mcp/os/wires.ts";
import { wireOf } from "units/mcp/wire.ts";
import { connectUnix } from "core/os/connect_unix.ts";
import { ok } from "core/result.ts";
import type { Gate } from "core/risk/rules.ts";
import type { McpName } from "core/names.ts";
import { type FakeClock, fakeClock } from "tests/fakes/clock.ts";
import { type RecordingLog, recordingLog } from "tests/fakes/log.ts";
import type { GateReader } from "core/risk/gate_file.ts";
import { runProxy } from "units/mcp/proxy.ts";
import type { ProxyPorts } from "units/mcp/proxy_ports.ts";

/** One parsed message. */
// deno-lint-ignore no-explicit-any -- tests inspect any message
export type Wire = any;

/** One connection of a fake server. */
export interface ServerConnection {
  /** Number of this connection, from 1. */
  readonly index: number;
  readonly received: Wire[];
  send(message: unknown): Promise<void>;
  sendRaw(bytes: Uint8Array | string): Promise<void>;
  close(): void;
}

/** What a fake server does with each message that it receives. */
export type ServerBehavior = (message: Wire, connection: ServerConnection) => void | Promise<void>;

/** A running proxy; the test controls both its ends. */
export interface ProxyBench extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly log: RecordingLog;
  readonly socket: string;
  readonly connections: readonly ServerConnection[];
  send(message: unknown): Promise<void>;
  sendRaw(bytes: Uint8Array | string): Promise<void>;
  /** Returns the next line for the client. */
  next(): Promise<Wire>;
  /** Sends a request and returns the next line with its id. */
  ask(id: number | string, method: string, params?: unknown): Promise<Wire>;
  /** Resolves when the server has accepted `count` connections, open or ended. */
  connected(count: number): Promise<void>;
  /** Resolves when connection `index` (from 1) has ended. */
  ended(index: number): Promise<void>;
}

const encoder = new TextEncoder();

/** Answers `initialize`, `tools/list` and `tools/call` (echo) like a well-behaved server. */
export const echoServer: ServerBehavior = async (message, connection) => {
  if (message.id === undefined || message.method === undefined) return;
  const answer = (result: unknown) => connection.send({ jsonrpc: "2.0", id: message.id, result });
  if (message.method === "initialize") {
    return await answer({
      protocolVersion: message.params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "echo", version: "1" },
    });
  }
  if (message.method === "tools/list") {
    return await answer({
      tools: ["look", "wipe", "write"].map((name) => ({ name, inputSchema: { type: "object" } })),
    });
  }
  await answer({ content: [{ type: "text", text: JSON.stringify(message.params) }] });
};

/** The gate of the bench: `wipe` is blocked, `write` needs approval. */
export const BENCH_GATE: Gate = {
  mcp: "bench" as McpName,
  version: "1.0.0",
  reads: new Set(),
  rules: new Map([["wipe", "block"], ["write", "ask"]]),
  idleStopSeconds: 60,
};

/** Starts a proxy in front of a server with the given behavior. */
export async function proxyBench(
  behavior: ServerBehavior = echoServer,
  options: {
    readonly gate?: GateReader;
    readonly listen?: boolean;
    /** The dial unit's socket for approvals; when absent, no one can approve. */
    readonly dialSocket?: string;
    /** The agent that the proxy serves. */
    readonly agent?: string;
    /** Returns why the server may not start. */
    readonly checkServer?: ProxyPorts["checkServer"];
  } = {},
): Promise<ProxyBench> {
  const folder = await Deno.makeTempDir();
  const socket = `${folder}/mcp.sock`;
  const server = options.listen === false ? undefined : serveUnix(socket, behavior);
  const toProxy = new TransformStream<Uint8Array, Uint8Array>();
  const fromProxy = new TransformStream<Uint8Array, Uint8Array>();
  const clock = fakeClock();
  const log = recordingLog();
  const done = runProxy({ agent: options.agent ?? "ada", mcp: "bench", socket }, {
    client: wireOf({ readable: toProxy.readable, writable: fromProxy.writable }),
    clock,
    log,
    gate: options.gate ?? { current: () => Promise.resolve(ok(BENCH_GATE)) },
    dialSocket: options.dialSocket ?? `${folder}/dial.sock`,
    connect: connectUnix,
    openServer: connectWire,
    ...defined({ checkServer: options.checkServer }),
  });
  const input = toProxy.writable.getWriter();
  const lines = readMessages(fromProxy.readable);
  const bench: ProxyBench = {
    clock,
    log,
    socket,
    connections: server?.connections ?? [],
    send: (message) => input.write(encoder.encode(`${JSON.stringify(message)}\n`)),
    sendRaw: (bytes) => input.write(typeof bytes === "string" ? encoder.encode(bytes) : bytes),
    async next() {
      const { value, done } = await lines.next();
      if (done) throw new Error("the proxy has ended");
      return value;
    },
    async ask(id, method, params = {}) {
      void bench.send({ jsonrpc: "2.0", id, method, params });
      for (;;) {
        const message = await bench.next();
        if (message.id === id && message.method === undefined) return message;
      }
    },
    connected: (count) => server?.connected(count) ?? Promise.resolve(),
    ended: (index) => server?.ended(index) ?? Promise.resolve(),
    async [Symbol.asyncDispose]() {
      await input.close().catch(() => {});
      void drain(lines);
      await done;
      await server?.close();
      await Deno.remove(folder, { recursive: true });
    },
  };
  return bench;
}

async function drain(lines: AsyncGenerator<Wire>): Promise<void> {
  for await (const _ of lines);
}

async function* readMessages(readable: ReadableStream<Uint8Array>): AsyncGenerator<Wire> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of readable) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) yield JSON.parse(part);
  }
}

/** Serves a fake server on a unix socket, as a socket unit would. */
export function serveUnix(socket: string, behavior: ServerBehavior) {
  const listener = Deno.listen({ transport: "unix", path: socket });
  const connections: ServerConnection[] = [];
  const ends: Promise<void>[] = [];
  let waiting: (() => void)[] = [];
  const accepting = (async () => {
    for await (const conn of listener) {
      const connection = serverConnection(conn, connections.length + 1);
      connections.push(connection);
      ends.push(serve(conn, connection, behavior));
      for (const wake of waiting) wake();
      waiting = [];
    }
  })();
  const connected = async (count: number) => {
    while (connections.length < count) {
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
  };
  return {
    connections,
    connected,
    async ended(index: number) {
      await connected(index);
      await ends[index - 1];
    },
    async close() {
      listener.close();
      for (const connection of connections) connection.close();
      await accepting;
      await Promise.all(ends);
    },
  };
}

function serverConnection(conn: Deno.Conn, index: number): ServerConnection {
  let isOpen = true;
  const write = async (bytes: Uint8Array) => {
    for (let at = 0; at < bytes.length;) at += await conn.write(bytes.subarray(at));
  };
  return {
    index,
    received: [],
    send: (message) => write(encoder.encode(`${JSON.stringify(message)}\n`)),
    sendRaw: (bytes) => write(typeof bytes === "string" ? encoder.encode(bytes) : bytes),
    close() {
      if (isOpen) conn.close();
      isOpen = false;
    },
  };
}

async function serve(
  conn: Deno.Conn,
  connection: ServerConnection,
  behavior: ServerBehavior,
): Promise<void> {
  const splitter = new LineSplitter({ lineBytesMax: Infinity });
  const buffer = new Uint8Array(256 * 1024);
  try {
    for (;;) {
      const count = await conn.read(buffer);
      if (count === null) return;
      for (const line of splitter.push(buffer.subarray(0, count))) {
        const message = JSON.parse(new TextDecoder().decode(line));
        connection.received.push(message);
        await behavior(message, connection);
      }
    }
  } catch (thrown) {
    const isOver = thrown instanceof Deno.errors.BadResource ||
      thrown instanceof Deno.errors.Interrupted || thrown instanceof Deno.errors.BrokenPipe ||
      thrown instanceof Deno.errors.ConnectionReset;
    if (!isOver) throw thrown;
  } finally {
    connection.close();
  }
}
