/**
 * Outgoing HTTP through the platform's own `fetch`, and a faster way for short requests. No policy.
 *
 * @module
 */

import type { HttpClient } from "core/ports/http_client.ts";
import { isForProxy } from "core/net/proxy_env.ts";
import type { HttpCalls } from "core/http1/os/http_call.ts";

/** Returns the platform's HTTP client. */
export function systemHttp(): HttpClient {
  let calls: Promise<HttpCalls> | undefined;
  return {
    fetch: (input, init) => fetch(input, init),
    isForProxy: (url) => isForProxy(url, (name) => Deno.env.get(name)),
    call: async (request) => {
      calls ??= import("core/http1/os/http_call.ts").then(({ openHttpCalls }) => openHttpCalls());
      return await (await calls).call(request);
    },
  };
}
