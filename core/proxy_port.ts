/**
 * The two sides of a proxy as ports: the listener in front, and the one server behind it. Messages
 * pass as they are. Types only; the adapters are `core/os/proxy_server.ts` and `core/os/upstream.ts`. Apart
 * from `core/ports.ts` because only the login proxy needs it: everybody else wants an answer that is
 * unpacked and followed (`HttpClient`), and a `Request` (`Sockets`).
 *
 * @module
 */

import type { Cut } from "core/cut.ts";
import type { HeaderList } from "core/header_list.ts";
import type { ListenAddress, Listener, UpgradeTunnel } from "core/ports.ts";

/** Headers in the order and the spelling of the message. */
export type HeaderPairs = readonly (readonly [name: string, value: string])[];
/** A body: bytes when all of it is there already, null when the message has none. */
export type MessageBody = ReadableStream<Uint8Array<ArrayBuffer>> | Uint8Array<ArrayBuffer> | null;

/** A request as it came in. */
export interface ProxyRequest {
  readonly method: string;
  /** Scheme `http`, host as asked, path and query. */
  readonly url: URL;
  readonly headers: HeaderList;
  /** Fails with `SyntaxError` when it is not framed as the head says, else when its sender left. */
  readonly body: ReadableStream<Uint8Array> | null;
  /** Calls back when the sender is gone before its answer has ended. */
  onGone(run: () => void): void;
}

/** An answer that is passed on: neither unpacked nor followed. */
export interface ProxyAnswer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: MessageBody;
}

/** What becomes of an upgrade. */
export type ProxyUpgrade =
  | { readonly accept: false; readonly response: Response }
  | { readonly accept: "tunnel"; readonly tunnel: UpgradeTunnel };

/** What a proxy does with what comes in. */
export interface ProxyHandlers {
  handle(request: ProxyRequest, peer: string): Promise<Response | ProxyAnswer>;
  upgrade(request: ProxyRequest, peer: string): Promise<ProxyUpgrade>;
  /** One text for all peers of one client; undefined for one that speaks for many, and if not given. */
  clientOf?(peer: string): string | undefined;
}

/** A request on its way. Framing and `Host` are the adapter's; neither is in `headers`. */
export interface UpstreamRequest {
  readonly method: string;
  /** Path and query, byte for byte. */
  readonly target: string;
  readonly headers: Iterable<readonly [name: string, value: string]>;
  readonly body: ReadableStream<Uint8Array> | null;
  /** Length of the body when its sender has told it; else it is sent in chunks. */
  readonly bodyBytes: number | undefined;
  /** Drops the connection at once, before or during the answer. */
  readonly cut: Cut;
  /** Called once after an answer, when its body has been read or given up. */
  readonly onEnd: () => void;
}

/** The answer of the server, without the headers of its connection. */
export interface UpstreamAnswer {
  readonly status: number;
  readonly headers: HeaderPairs;
  readonly body: MessageBody;
}

/** One server. */
export interface Upstream {
  /** Rejects with `UpstreamFault` when there is no answer, or one that is not HTTP. */
  send(request: UpstreamRequest): Promise<UpstreamAnswer>;
  /** Drops every connection. */
  close(): void;
}

/** Both sides. */
export interface Proxying {
  /** Listens. Port 0 picks one. Rejects with `AddressFault` when the address is taken. */
  serve(at: ListenAddress, handlers: ProxyHandlers): Promise<Listener>;
  /** Names the server behind; connects when something is sent. */
  open(at: ListenAddress): Upstream;
}

/** Why there is no answer; `message` is for the log. */
export class UpstreamFault extends Error {
  override readonly name = "UpstreamFault";
  constructor(
    readonly reason: "unreachable" | "aborted" | "malformed",
    message: string,
  ) {
    super(message);
  }
}
