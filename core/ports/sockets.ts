/**
 * The port that listens and connects: HTTP, WebSocket and unix sockets.
 *
 * @module
 */

import type { PlainHandler } from "core/http1/plain_http.ts";

/** Where a listener ended up. */
export interface ListenAddress {
  readonly hostname: string;
  readonly port: number;
}

/**
 * Something that listens; `close` stops accepting and resolves when open work has
 * ended or `graceMs` is over.
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

/** Who is at the other end of a unix socket, as the kernel says. */
export interface PeerCredentials {
  readonly uid: number;
  readonly gid: number;
  /** For people who read a log; numbers of processes are given out again. */
  readonly pid: number;
  /** Root, but of another user or process namespace than this program's: a container's root. */
  readonly isForeignRoot?: boolean;
}

/** One accepted connection of a unix listener that asks for credentials. */
export interface PeerStream extends ByteStream {
  readonly peer: PeerCredentials;
}

/**
 * One WebSocket carrying text frames. Handlers are set before the first await after it
 * was handed out.
 */
export interface FrameConnection {
  /** Chosen subprotocol, or "". */
  readonly protocol: string;
  /** Address of the peer as text, for logs. */
  readonly peer: string;
  /** Bytes accepted by `send` that the kernel has not taken yet. */
  bufferedBytes(): number;
  send(text: string): void;
  /** Closing handshake with a code and at most 123 bytes of reason. */
  close(code: number, reason: string): void;
  /** Drops the connection without handshake. */
  terminate(): void;
  ping(): void;
  /**
   * Reads nothing more until `resume`, so that the peer's socket fills; a few frames may
   * still come.
   */
  pause(): void;
  resume(): void;
  onMessage(handler: (text: string) => void): void;
  /** Any sign of life from the peer: a frame, a ping or a pong. */
  onAlive(handler: () => void): void;
  /** Called once. `code` is 1006 when the connection was lost. */
  onClose(handler: (code: number, reason: string) => void): void;
  /** Sets the largest frame that will be accepted from now on; larger ones close with 1009. */
  setFrameBytesMax(bytes: number): void;
}

/** What a WebSocket listener asks its owner about a request. */
export type UpgradeAnswer =
  | {
    readonly accept: true;
    readonly protocol?: string;
    readonly onOpen: (connection: FrameConnection) => void;
  }
  | { readonly accept: false; readonly response: Response }
  | { readonly accept: "tunnel"; readonly tunnel: UpgradeTunnel };

/** An upgrade that another server of this machine answers; then bytes go both ways unread. */
export interface UpgradeTunnel {
  readonly to: ListenAddress;
  /** Path and query of the request. */
  readonly target: string;
  /** The whole request but for `Host`, `Connection` and `Upgrade`. */
  readonly headers: Headers;
  /** Drops both connections at once. */
  readonly signal: AbortSignal;
  /** Time for the other server's answer. */
  readonly timeoutMs: number;
  /** What the client is told when the other server gives no answer. */
  readonly unreachable: (why: string) => Response;
  /** Called once, when the connections are gone. */
  readonly onClose: () => void;
}

/** Listening and connecting. */
export interface Sockets {
  /** Serves HTTP. Port 0 picks one. Rejects with `AddressFault` when the address is taken. */
  serveHttp(
    at: ListenAddress,
    handler: (request: Request, peer: string) => Response | Promise<Response>,
  ): Promise<Listener>;
  /** Serves short requests over HTTP/1.1 for a fraction of the cost; bodies are not streamed. */
  servePlain(at: ListenAddress, handler: PlainHandler): Promise<Listener>;
  /** Serves WebSockets, and HTTP by `handler`; a connection may change its `frameBytesMax`. */
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
   * Opens a WebSocket; rejects when the peer is not reached in time, or refuses (`UpgradeFault`).
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
  /** Listens on a unix socket and names each peer. `mode` is set before the first accept. */
  serveUnix(
    path: string,
    mode: number,
    onConnection: (stream: PeerStream) => void,
  ): Promise<{ close(): Promise<void> }>;
  /** Connects to a unix socket; rejects with the system's error. */
  connectUnix(path: string): Promise<ByteStream>;
}

/**
 * Thrown when an address cannot be listened on; `holder` names who has it, where that can be known.
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
