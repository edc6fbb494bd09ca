/**
 * Outgoing HTTP on the platform's own `fetch`. No policy.
 *
 * @module
 */

import type { HttpClient } from "core/ports.ts";

/** Returns the platform's HTTP client. */
export function systemHttp(): HttpClient {
  return { fetch: (input, init) => fetch(input, init) };
}
