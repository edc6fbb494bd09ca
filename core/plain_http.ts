/**
 * A short request and its answer, for a server that is asked often: what a `Request` and a `Response` say,
 * and nothing is made of it that nobody asks for (ADR 0012). Types only; the adapter is
 * `core/os/plain_server.ts`.
 *
 * @module
 */

import type { HeaderReader } from "core/header_list.ts";

/** A body that was read whole, or why it was not. */
export type BodyBytes = Uint8Array<ArrayBuffer> | "too-long";

/** A request whose head has been read. */
export interface PlainRequest {
  readonly method: string;
  /** Path as it was sent, without query; a listener that makes a `URL` may have mended it. */
  readonly path: string;
  readonly headers: HeaderReader;
  /** Address of the other end. */
  readonly peer: string;
  /**
   * Reads the body, once; of what is longer than `bytesMax` the rest is dropped. At once when all of it has
   * come, which is nearly always. Rejects when it is cut.
   */
  body(bytesMax: number): BodyBytes | Promise<BodyBytes>;
}

/** What is answered. */
export interface PlainAnswer {
  readonly status: number;
  /** Names in lowercase; framing and date are the listener's. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | null;
}

/** Answers requests. */
export type PlainHandler = (request: PlainRequest) => Promise<PlainAnswer>;
