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
   * A faster way for short requests, where available. It ignores proxies: check `isForProxy` first.
   */
  readonly call?: HttpCall;
  /** Whether the environment may send a request through a proxy. If so, use `fetch` only. */
  readonly isForProxy?: (url: string) => boolean;
}
