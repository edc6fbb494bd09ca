/**
 * An MCP server at a URL, as a byte stream with one JSON-RPC message per line. Callers use it
 * exactly like a server on a socket. The official SDK implements Streamable HTTP of both revisions.
 * This module adds what the SDK leaves to its caller: it follows no redirect, bounds answers,
 * answers every request once, and keeps keys and the URL out of error texts. Never gates.
 *
 * @module
 */

import {
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { errorText } from "core/errors.ts";
import { MCP_LIMITS } from "core/limits/mcp.ts";
import { boundAnswer } from "core/net/bounded_answer.ts";
import type { HttpEndpoint } from "core/ports/mcp_client.ts";
import type { Clock } from "core/ports/clock.ts";
import type { HttpClient } from "core/ports/http_client.ts";
import type { ByteStream } from "core/ports/sockets.ts";
import { readLineBytes } from "core/text/lines.ts";

/** The ports that the stream needs. */
export interface McpHttpPorts {
  readonly http: HttpClient;
  readonly clock: Pick<Clock, "after">;
}

/** The SDK's code for a lost connection, and JSON-RPC's code for an unknown method. */
const LOST = -32000;
const UNKNOWN_METHOD = -32601;
/** How long closing a session may take to notify the server. */
const SESSION_END_MS = 2_000;
/** Reconnects to an event stream that the server closed early, as the 2025 revision allows. */
const RECONNECT = {
  initialReconnectionDelay: 500,
  maxReconnectionDelay: 5_000,
  reconnectionDelayGrowFactor: 2,
  maxRetries: 2,
};
const FAULT_LENGTH_MAX = 300;
/** A truncated message is discarded. */
const LINES = { lineBytesMax: MCP_LIMITS.messageBytesMax, mustEnd: true };
const STATELESS = "io.modelcontextprotocol/protocolVersion";

type Id = string | number;
interface Request {
  readonly id: Id;
  readonly method: string;
  readonly params?: { readonly _meta?: Readonly<Record<string, unknown>> };
}

/** Opens the stream; nothing is sent before the first message. */
export function openMcpHttp(endpoint: HttpEndpoint, ports: McpHttpPorts): ByteStream {
  return new HttpStream(endpoint, ports);
}

/** The stream; keeps the pending requests and how to abort each. */
class HttpStream implements ByteStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
  readonly #endpoint: HttpEndpoint;
  readonly #ports: McpHttpPorts;
  readonly #transport: StreamableHTTPClientTransport;
  readonly #open = new Map<Id, { readonly stop: AbortController; readonly isStateless: boolean }>();
  readonly #encoder = new TextEncoder();
  #out: ReadableStreamDefaultController<Uint8Array> | undefined;
  #initialize: Id | undefined;
  #isClosed = false;

  constructor(endpoint: HttpEndpoint, ports: McpHttpPorts) {
    this.#endpoint = endpoint;
    this.#ports = ports;
    this.#transport = new StreamableHTTPClientTransport(new URL(endpoint.url), {
      requestInit: { headers: { ...endpoint.headers } },
      fetch: (url, init) => this.#fetch(url, init),
      reconnectionOptions: RECONNECT,
    });
    const transport: Transport = this.#transport;
    transport.onmessage = (message) => this.#take(message);
    // A failed request rejects its own promise. Other errors concern the listening stream.
    transport.onerror = () => {};
    this.readable = new ReadableStream<Uint8Array>({
      start: (controller) => void (this.#out = controller),
      cancel: () => this.close(),
    });
    const input = new TransformStream<Uint8Array, Uint8Array>();
    this.writable = input.writable;
    void this.#sendAll(input.readable);
  }

  async #sendAll(lines: ReadableStream<Uint8Array>): Promise<void> {
    try {
      await this.#transport.start();
      for await (const line of readLineBytes(lines, LINES)) await this.#send(line);
    } catch {
      // The input was not a message, or the writer aborted: the stream ends in both cases.
    }
    this.close();
  }

  /** Sends a message. Does not wait for requests, so that a slow one delays no other. */
  async #send(line: Uint8Array): Promise<void> {
    const text = new TextDecoder().decode(line);
    if (text.trim() === "") return;
    const message = JSON.parse(text) as JSONRPCMessage;
    if (isRequest(message)) return void this.#request(message);
    if (this.#cancels(message)) return;
    await this.#transport.send(message).catch(() => {
      // No caller waits for the answer to a notification or a response.
    });
  }

  async #request(message: Request & JSONRPCMessage): Promise<void> {
    const { id, method } = message;
    const stop = new AbortController();
    this.#open.set(id, {
      stop,
      isStateless: STATELESS in (message.params?._meta ?? {}),
    });
    if (method === "initialize") this.#initialize = id;
    try {
      await this.#transport.send(message, {
        requestSignal: stop.signal,
        onRequestStreamEnd: () => this.#fail(id, LOST, "its answer ended before it was complete"),
      });
    } catch (thrown) {
      const status = (thrown as { data?: { status?: unknown } } | null)?.data?.status;
      // A server of the 2025 revision refuses requests before its handshake.
      const isProbe = method === "server/discover" && Number(status) >= 400 && Number(status) < 500;
      const code = isProbe && status !== 401 && status !== 403 ? UNKNOWN_METHOD : LOST;
      this.#fail(id, code, faultText(thrown, status));
    }
  }

  /**
   * Aborts the HTTP exchange of a cancelled request, as the stateless revision requires. Returns
   * false when the cancellation must be sent instead.
   */
  #cancels(message: JSONRPCMessage): boolean {
    const { method, params } = message as {
      readonly method?: unknown;
      readonly params?: { readonly requestId?: unknown };
    };
    if (method !== "notifications/cancelled") return false;
    const request = this.#open.get(params?.requestId as Id);
    if (request?.isStateless !== true) return false;
    this.#open.delete(params?.requestId as Id);
    request.stop.abort();
    return true;
  }

  #take(message: JSONRPCMessage): void {
    if ("id" in message && !("method" in message) && message.id !== undefined) {
      // A late, repeated or invented answer: the request is already answered.
      if (!this.#open.delete(message.id)) return;
      if (message.id === this.#initialize && "result" in message) {
        const version = (message.result as { readonly protocolVersion?: unknown }).protocolVersion;
        if (typeof version === "string") this.#transport.setProtocolVersion(version);
      }
    }
    this.#print(message);
  }

  #fail(id: Id, code: number, state: string): void {
    if (!this.#open.delete(id) || this.#isClosed) return;
    const message = `${new URL(this.#endpoint.url).host}: ${this.#clean(state)}`;
    this.#print({ jsonrpc: "2.0", id, error: { code, message } });
  }

  #print(message: JSONRPCMessage): void {
    if (this.#isClosed) return;
    this.#out?.enqueue(this.#encoder.encode(`${JSON.stringify(message)}\n`));
  }

  /** Removes the URL and all keys from an error text, which may repeat them. */
  #clean(text: string): string {
    const { url, secrets } = this.#endpoint;
    const hidden = [url, ...secrets].filter((part) => part !== "")
      .sort((a, b) => b.length - a.length);
    return hidden.reduce((rest, part) => rest.split(part).join("…"), text)
      .replace(/\s+/g, " ").trim().slice(0, FAULT_LENGTH_MAX);
  }

  async #fetch(url: string | URL, init: RequestInit | undefined): Promise<Response> {
    const response = await this.#ports.http.fetch(url, { ...init, redirect: "manual" });
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel();
      throw new Error("it answered with a redirect, which is not followed");
    }
    return boundAnswer(response, MCP_LIMITS.messageBytesMax);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const { stop } of this.#open.values()) stop.abort();
    this.#open.clear();
    try {
      this.#out?.close();
    } catch {
      // The reader closed first.
    }
    void this.#endSession();
  }

  /** Notifies a server that its session is over; ignores the result. */
  async #endSession(): Promise<void> {
    const stop = this.#ports.clock.after(SESSION_END_MS, () => void this.#transport.close());
    await this.#transport.terminateSession().catch(() => {/* it forgets the session by itself */});
    stop();
    await this.#transport.close();
  }
}

function isRequest(message: JSONRPCMessage): message is Request & JSONRPCMessage {
  const { id, method } = message as { readonly id?: unknown; readonly method?: unknown };
  return typeof method === "string" && (typeof id === "string" || typeof id === "number");
}

function faultText(thrown: unknown, status: unknown): string {
  if (status === 401 || status === 403) {
    return `it refused the sign-in with status ${status}`;
  }
  const text = errorText(thrown);
  return typeof status === "number" ? `it answered with status ${status}: ${text}` : text;
}
