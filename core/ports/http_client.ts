/**
 * The port of outgoing HTTP.
 *
 * @module
 */

import type { HttpCall } from "core/http1/http_call.ts";

/** Outgoing HTTP. */
export interface HttpClient {
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /**
   * A quicker way for short requests, where there is one. It knows no proxies: ask `isForProxy`.
   */
  readonly call?: HttpCall;
  /** Whether the environment may want a request to leave through a proxy: then by `fetch` alone. */
  readonly isForProxy?: (url: string) => boolean;
}
