/**
 * An HTTP front for the product's path, because the suite speaks only HTTP. Each client gets a
 * separate proxy (`units/mcp/proxy.ts`, with the gate) on the unix socket of the fixture server.
 * Test code. The front answers what concerns only HTTP; those results do not test the product.
 *
 * @module
 */

import { connectWire } from "units/mcp/os/wires.ts";
import { wireOf } from "units/mcp/wire.ts";
import { connectUnix } from "core/os/connect_unix.ts";
import { systemClock } from "core/os/clock.ts";
import type { McpName } from "core/names.ts";
import { ok } from "core/result.ts";
import { recordingLog } from "tests/fakes/log.ts";
import type { Json } from "tests/support/conformance/content.ts";
import type { Message } from "tests/support/conformance/fixture_server.ts";
import { runProxy } from "units/mcp/proxy.ts";

/** A running front. */
export interface Front {
  readonly url: string;
  close(): Promise<void>;
}

const META = "io.modelcontextprotocol/";
const SESSION = "mcp-session-id";
const STATUS_OF_CODE: Readonly<Record<number, number>> = {
  [-32601]: 404,
  [-32602]: 400,
  [-32600]: 400,
  [-32020]: 400,
  [-32021]: 400,
  [-32022]: 400,
};

/** Starts the front for the socket of a server. */
export function startFront(socket: string): Front {
  const sessions = new Map<string, ProxyClient>();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const foreign = foreignHost(request);
      if (foreign !== undefined) return foreign;
      if (request.method === "DELETE") return await endSession(request, sessions);
      if (request.method === "GET") return openStream(request, sessions);
      return await post(request, socket, sessions);
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    close: async () => {
      await Promise.all([...sessions.values()].map((client) => client.close()));
      await server.shutdown();
    },
  };
}

/**
 * Protects against DNS rebinding: accepts only pages and programs of this host. Concerns only HTTP.
 */
function foreignHost(request: Request): Response | undefined {
  const isLocal = (host: string) => /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(host);
  const origin = request.headers.get("origin");
  const isFine = isLocal(request.headers.get("host") ?? "") &&
    (origin === null || URL.canParse(origin) && isLocal(new URL(origin).host));
  return isFine ? undefined : new Response("foreign host", { status: 403 });
}

async function endSession(
  request: Request,
  sessions: Map<string, ProxyClient>,
): Promise<Response> {
  const id = request.headers.get(SESSION) ?? "";
  await sessions.get(id)?.close();
  return new Response(null, { status: sessions.delete(id) ? 204 : 404 });
}

function openStream(request: Request, sessions: ReadonlyMap<string, ProxyClient>): Response {
  const client = sessions.get(request.headers.get(SESSION) ?? "");
  return client === undefined
    ? new Response("no session", { status: 405 })
    : eventStream((send) => client.listen(send));
}

async function post(
  request: Request,
  socket: string,
  sessions: Map<string, ProxyClient>,
): Promise<Response> {
  const message = await request.json() as Message;
  const meta = (message.params?._meta ?? {}) as Json;
  const header = request.headers.get("mcp-protocol-version");
  const isNew = `${META}protocolVersion` in meta || (header ?? "") >= "2026";
  if (isNew) return await postStateless(message, meta, header, socket);
  if (message.method === "initialize") {
    const client = new ProxyClient(socket);
    const id = crypto.randomUUID();
    sessions.set(id, client);
    return await client.exchange(message, { [SESSION]: id });
  }
  const client = sessions.get(request.headers.get(SESSION) ?? "");
  if (client === undefined) return new Response("no session", { status: 404 });
  return await client.exchange(message);
}

/** Without sessions, each request is a separate client. */
async function postStateless(
  message: Message,
  meta: Json,
  header: string | null,
  socket: string,
): Promise<Response> {
  const { id } = message;
  const version = meta[`${META}protocolVersion`];
  if (typeof version === "string" && version !== header) {
    const error = { code: -32020, message: "The header names another version" };
    return Response.json({ jsonrpc: "2.0", id, error }, { status: 400 });
  }
  const client = new ProxyClient(socket);
  const response = await client.exchange(message);
  if (!(response.headers.get("content-type") ?? "").includes("event-stream")) await client.close();
  return response;
}

function eventStream(
  open: (send: (message: Message) => void) => void | (() => void),
  headers: Readonly<Record<string, string>> = {},
): Response {
  const encoder = new TextEncoder();
  let stop: void | (() => void);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const send = (message: Message) => {
        try {
          controller.enqueue(
            encoder.encode(`event: message\ndata: ${JSON.stringify(message)}\n\n`),
          );
          if (message.method === undefined) controller.close();
        } catch {
          // The reader has disconnected.
        }
      };
      stop = open(send);
    },
    cancel: () => stop?.(),
  });
  return new Response(body, { headers: { "content-type": "text/event-stream", ...headers } });
}

/** One proxy with this process as its client. */
class ProxyClient {
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #done: Promise<void>;
  readonly #open = new Map<string | number, (message: Message) => void>();
  /**
   * The target of server messages that answer no request: the newest open request, or the stream.
   */
  #listener: ((message: Message) => void) | undefined;

  constructor(socket: string) {
    const toProxy = new TransformStream<Uint8Array, Uint8Array>();
    const fromProxy = new TransformStream<Uint8Array, Uint8Array>();
    this.#input = toProxy.writable.getWriter();
    this.#done = runProxy({ agent: "ada", mcp: "conformance", socket }, {
      client: wireOf({ readable: toProxy.readable, writable: fromProxy.writable }),
      clock: systemClock(),
      log: recordingLog(),
      // One rule, so that the gate checks every call and every list.
      gate: {
        current: () =>
          Promise.resolve(
            ok({
              mcp: "conformance" as McpName,
              version: "1.0.0",
              reads: new Set(),
              idleStopSeconds: undefined,
              rules: new Map([["test_never_there", "block"]]),
            }),
          ),
      },
      dialSocket: "/nonexistent",
      connect: connectUnix,
      openServer: connectWire,
    });
    void this.#read(fromProxy.readable);
  }

  async #read(readable: ReadableStream<Uint8Array>): Promise<void> {
    let rest = "";
    for await (const chunk of readable.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#take(JSON.parse(line) as Message);
    }
  }

  #take(message: Message): void {
    const isAnswer = message.method === undefined && message.id !== undefined;
    const newest = [...this.#open.values()].at(-1);
    if (!isAnswer) return (newest ?? this.#listener)?.(message);
    const settle = this.#open.get(message.id ?? "");
    this.#open.delete(message.id ?? "");
    settle?.(message);
  }

  listen(send: (message: Message) => void): () => void {
    this.#listener = send;
    return () => {
      this.#listener = undefined;
    };
  }

  /** Sends a message. A lone answer is returned as JSON; earlier messages make it a stream. */
  async exchange(
    message: Message,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    const { id, method } = message;
    const bytes = new TextEncoder().encode(`${JSON.stringify(message)}\n`);
    if (id === undefined || method === undefined) {
      await this.#input.write(bytes);
      return new Response(null, { status: 202, headers });
    }
    const early: Message[] = [];
    let send: ((message: Message) => void) | undefined;
    const first = new Promise<Message>((resolve) => {
      this.#open.set(id, (found) => {
        if (send !== undefined) send(found);
        else early.push(found);
        resolve(found);
      });
    });
    await this.#input.write(bytes);
    const found = await first;
    if (found.method === undefined) {
      const code = Number((found.error as Json | undefined)?.code);
      return Response.json(found, { status: STATUS_OF_CODE[code] ?? 200, headers });
    }
    return eventStream((open) => {
      for (const each of early) open(each);
      send = open;
      return () => void this.close();
    }, headers);
  }

  async close(): Promise<void> {
    await this.#input.close().catch(() => {/* already closed */});
    await this.#done;
  }
}
