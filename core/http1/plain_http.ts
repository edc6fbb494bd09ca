/**
 * A short request and its answer, for a busy server. Like `Request` and `Response`, but values are
 * created only on use (ADR 0012). Types only; the adapter is `core/http1/os/plain_server.ts`.
 *
 * @module
 */

import type { HeaderReader } from "core/http1/header_list.ts";

/** A complete body, or why it could not be read. */
export type BodyBytes = Uint8Array<ArrayBuffer> | "too-long";

/** A request whose head has been read. */
export interface PlainRequest {
  readonly method: string;
  /** Path as sent, without query; a listener that creates a `URL` may have normalized it. */
  readonly path: string;
  readonly headers: HeaderReader;
  /** Address of the peer. */
  readonly peer: string;
  /**
   * Reads the body, once; returns `too-long` if it exceeds `bytesMax`. Synchronous if all of it has
   * arrived, which is usual. Rejects if it is truncated.
   */
  body(bytesMax: number): BodyBytes | Promise<BodyBytes>;
}

/** An answer. */
export interface PlainAnswer {
  readonly status: number;
  /** Names in lowercase; the listener adds framing and date. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | null;
}

/** Answers requests. */
export type PlainHandler = (request: PlainRequest) => Promise<PlainAnswer>;
