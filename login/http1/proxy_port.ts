/**
 * The ports of a proxy: the listener, and the upstream server. Messages pass unchanged. Types only;
 * the adapters are `login/http1/os/proxy_server.ts` and `login/http1/os/upstream.ts`. Not in
 * `Host`, because only the login proxy needs it: other programs use `HttpClient`, which
 * decompresses and follows redirects, and `Sockets`.
 *
 * @module
 */

import type { AbortHandle } from "login/abort_handle.ts";
import type { HeaderList, HeaderPairs } from "core/http1/header_list.ts";
import type { ListenAddress, Listener, UpgradeTunnel } from "core/ports/sockets.ts";

/** A body: bytes if it is complete already, null if the message has none. */
export type MessageBody = ReadableStream<Uint8Array<ArrayBuffer>> | Uint8Array<ArrayBuffer> | null;

/** A received request. */
export interface ProxyRequest {
  readonly method: string;
  /** Scheme `http`, requested host, path and query. */
  readonly url: URL;
  readonly headers: HeaderList;
  /** Fails with `SyntaxError` on invalid framing, with another error if the sender disconnects. */
  readonly body: ReadableStream<Uint8Array> | null;
  /** Calls `run` if the sender disconnects before the answer has ended. */
  onDisconnect(run: () => void): void;
}

/** A forwarded answer, neither decompressed nor redirected. */
export interface ProxyAnswer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: MessageBody;
}

/** The decision on an upgrade. */
export type ProxyUpgrade =
  | { readonly accept: false; readonly response: Response }
  | { readonly accept: "tunnel"; readonly tunnel: UpgradeTunnel };

/** Handlers of requests and upgrades. */
export interface ProxyHandlers {
  handle(request: ProxyRequest, peer: string): Promise<Response | ProxyAnswer>;
  upgrade(request: ProxyRequest, peer: string): Promise<ProxyUpgrade>;
  /**
   * Returns one key for all peers of one client; undefined for a peer that serves many clients.
   */
  clientOf?(peer: string): string | undefined;
}

/** A request to the upstream. The adapter adds framing and `Host`; neither is in `headers`. */
export interface UpstreamRequest {
  readonly method: string;
  /** Path and query, byte for byte. */
  readonly target: string;
  readonly headers: Iterable<readonly [name: string, value: string]>;
  readonly body: ReadableStream<Uint8Array> | null;
  /** Declared length of the body; undefined to send chunks. */
  readonly bodyBytes: number | undefined;
  /** Closes the connection at once, before or during the answer. */
  readonly abortHandle: AbortHandle;
  /** Called exactly once, after the body of the answer has been read or cancelled. */
  readonly onEnd: () => void;
}

/** The answer of the server, without hop-by-hop headers. */
export interface UpstreamAnswer {
  readonly status: number;
  readonly headers: HeaderPairs;
  readonly body: MessageBody;
}

/** The upstream server. */
export interface Upstream {
  /** Rejects with `UpstreamFault` if there is no answer or it is not HTTP. */
  send(request: UpstreamRequest): Promise<UpstreamAnswer>;
  /** Closes every connection. */
  close(): void;
}

/** The listener and the upstream. */
export interface Proxying {
  /** Listens. Port 0 picks a free port. Rejects with `AddressFault` if the address is in use. */
  serve(at: ListenAddress, handlers: ProxyHandlers): Promise<Listener>;
  /** Creates the upstream; connects on the first request. */
  open(at: ListenAddress): Upstream;
}
