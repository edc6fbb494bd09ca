/**
 * The port that listens and connects: HTTP, WebSocket and unix sockets.
 *
 * @module
 */

import type { PlainHandler } from "core/http1/plain_http.ts";

/** The address that a listener is bound to. */
export interface ListenAddress {
  readonly hostname: string;
  readonly port: number;
}

/**
 * A listener. `close` stops accepting, and resolves when open work has ended or `graceMs` has
 * passed.
 */
export interface Listener {
  readonly address: ListenAddress;
  close(graceMs?: number): Promise<void>;
}

/** A byte stream to a peer. */
export interface ByteStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
  close(): void;
}

/** The peer of a unix socket, as the kernel reports it. */
export interface PeerCredentials {
  readonly uid: number;
  readonly gid: number;
  /** For log readers only; the kernel reuses process ids. */
  readonly pid: number;
  /** Root in another user or process namespace than this program's, such as a container's root. */
  readonly isContainerRoot?: boolean;
}

/** One accepted connection of a unix listener, with the peer's credentials. */
export interface PeerStream extends ByteStream {
  readonly peer: PeerCredentials;
}

/**
 * One WebSocket that carries text frames. The receiver must set its handlers before its first
 * await.
 */
export interface FrameConnection {
  /** Chosen subprotocol, or "". */
  readonly protocol: string;
  /** Address of the peer as text, for logs. */
  readonly peer: string;
  /** Bytes accepted by `send` that the kernel has not accepted yet. */
  bufferedBytes(): number;
  send(text: string): void;
  /** Starts the closing handshake with a code and at most 123 bytes of reason. */
  close(code: number, reason: string): void;
  /** Drops the connection without a handshake. */
  terminate(): void;
  ping(): void;
  /**
   * Stops reading until `resume`, so that the peer's socket fills. A few frames may still arrive.
   */
  pause(): void;
  resume(): void;
  onMessage(handler: (text: string) => void): void;
  /** Any sign of life from the peer: a frame, a ping or a pong. */
  onAlive(handler: () => void): void;
  /** Called once. `code` is 1006 when the connection is lost. */
  onClose(handler: (code: number, reason: string) => void): void;
  /** Sets the largest frame that is accepted from now on; a larger one closes with 1009. */
  setFrameBytesMax(bytes: number): void;
}

/** The answer of a WebSocket listener's owner to an upgrade request. */
export type UpgradeAnswer =
  | {
    readonly accept: true;
    readonly protocol?: string;
    readonly onOpen: (connection: FrameConnection) => void;
  }
  | { readonly accept: false; readonly response: Response }
  | { readonly accept: "tunnel"; readonly tunnel: UpgradeTunnel };

/**
 * An upgrade that another server on this machine answers. Afterwards bytes pass both ways unread.
 */
export interface UpgradeTunnel {
  readonly to: ListenAddress;
  /** Path and query of the request. */
  readonly target: string;
  /** All headers of the request except `Host`, `Connection` and `Upgrade`. */
  readonly headers: Headers;
  /** Drops both connections at once. */
  readonly signal: AbortSignal;
  /** How long to wait for the other server's answer. */
  readonly timeoutMs: number;
  /** Builds the client's response when the other server does not answer. */
  readonly unreachable: (why: string) => Response;
  /** Called once, when both connections are closed. */
  readonly onClose: () => void;
}

/** Listens and connects. */
export interface Sockets {
  /**
   * Serves HTTP. Port 0 picks a free port. Rejects with `AddressFault` when the address is in use.
   */
  serveHttp(
    at: ListenAddress,
    handler: (request: Request, peer: string) => Response | Promise<Response>,
  ): Promise<Listener>;
  /** Serves short requests over HTTP/1.1 at a fraction of the cost; bodies are not streamed. */
  servePlain(at: ListenAddress, handler: PlainHandler): Promise<Listener>;
  /** Serves WebSockets, and HTTP through `handler`. A connection may change its `frameBytesMax`. */
  serveFrames(
    at: ListenAddress,
    options: {
      readonly frameBytesMax: number;
      readonly upgrade: (
        request: Request,
        peer: string,
      ) => UpgradeAnswer | Promise<UpgradeAnswer>;
      readonly handler: (request: Request, peer: string) => Response | Promise<Response>;
    },
  ): Promise<Listener>;
  /**
   * Opens a WebSocket. Rejects when the peer is not reached in time, or refuses (`UpgradeFault`).
   */
  connectFrames(
    url: string,
    options: {
      readonly protocols?: readonly string[];
      readonly headers?: Readonly<Record<string, string>>;
      readonly frameBytesMax: number;
      readonly timeoutMs: number;
    },
  ): Promise<FrameConnection>;
  /** Listens on a unix socket and identifies each peer. `mode` is set before the first accept. */
  serveUnix(
    path: string,
    mode: number,
    onConnection: (stream: PeerStream) => void,
  ): Promise<{ close(): Promise<void> }>;
  /** Connects to a unix socket; rejects with the system's error. */
  connectUnix(path: string): Promise<ByteStream>;
}

/**
 * Thrown when a listener cannot bind its address. `holder` names the process that uses the address,
 * when known.
 */
export class AddressFault extends Error {
  override readonly name = "AddressFault";
  constructor(
    readonly at: ListenAddress,
    readonly reason: "in-use" | "not-permitted" | "not-available",
    readonly holder: string | undefined,
    message: string,
  ) {
    super(message);
  }
}
