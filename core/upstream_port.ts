/**
 * The port through which a proxy speaks to the one server behind it: messages pass as they are.
 * Types only; the adapter is `core/os/upstream.ts`. Apart from `core/ports.ts` because only the login
 * proxy needs it; everybody else wants an answer that is unpacked and followed (`HttpClient`).
 *
 * @module
 */

import type { ListenAddress } from "core/ports.ts";

/** Headers in the order and the spelling of the message. */
export type HeaderPairs = readonly (readonly [name: string, value: string])[];

/** A request on its way. Framing and `Host` are the adapter's; neither is in `headers`. */
export interface UpstreamRequest {
  readonly method: string;
  /** Path and query, byte for byte. */
  readonly target: string;
  readonly headers: HeaderPairs;
  readonly body: ReadableStream<Uint8Array> | null;
  /** Length of the body when its sender has told it; else it is sent in chunks. */
  readonly bodyBytes: number | undefined;
  /** Drops the connection at once, before or during the answer. */
  readonly signal: AbortSignal;
  /** Called once after an answer, when its body has been read or given up. */
  readonly onEnd: () => void;
}

/** The answer as it was sent: neither unpacked nor followed. */
export interface UpstreamAnswer {
  readonly status: number;
  /** Without those of the connection; `Content-Length` is there when the server told it. */
  readonly headers: HeaderPairs;
  /** Bytes when all of it is there already; null when the message has no body. */
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | Uint8Array<ArrayBuffer> | null;
}

/** One server. */
export interface Upstream {
  /** Rejects with `UpstreamFault` when there is no answer, or one that is not HTTP. */
  send(request: UpstreamRequest): Promise<UpstreamAnswer>;
  /** Drops every connection. */
  close(): void;
}

/** Opens upstreams. */
export interface Upstreams {
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
