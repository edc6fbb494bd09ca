/**
 * How a request of the connector leaves: by `fetch` where the environment names a proxy, which is
 * then never gone round; else by the quick way where there is one, and by `fetch` where that does
 * not connect (by another address of the host). No policy: whom to ask was decided before.
 *
 * @module
 */

import { withinTime } from "core/concurrency/time_limit.ts";
import { errorText } from "core/errors.ts";
import { type HttpCall, HttpCallFault } from "core/http1/http_call.ts";
import { readText } from "core/net/bounded_body.ts";
import type { Clock } from "core/ports/clock.ts";
import type { HttpClient } from "core/ports/http_client.ts";
import { err } from "core/result.ts";
import { strictUtf8 } from "core/text/utf8.ts";

/** How long nobody tries the quick way to a host that it did not reach. */
const BY_FETCH_MS = 60_000;
const ORIGINS_KEPT = 64;

/** Makes calls over `http`; each rejects with `HttpCallFault` alone. */
export function createCalls(http: HttpClient, clock: Pick<Clock, "after" | "monotonic">): HttpCall {
  const byFetch = callByFetch(http, clock);
  const quick = http.call;
  if (quick === undefined) return byFetch;
  const unreached = new Map<string, number>();
  const proxied = new Map<string, boolean>();
  const isProxied = (origin: string): boolean => {
    const known = proxied.get(origin);
    if (known !== undefined) return known;
    const read = http.isForProxy?.(origin) ?? false;
    if (proxied.size >= ORIGINS_KEPT) proxied.clear();
    proxied.set(origin, read);
    return read;
  };
  return async (request) => {
    const origin = request.url.slice(0, request.url.indexOf("/", "https://".length));
    if (isProxied(origin)) return await byFetch(request);
    const until = unreached.get(origin);
    if (until !== undefined && clock.monotonic() < until) return await byFetch(request);
    const begun = clock.monotonic();
    try {
      return await quick(request);
    } catch (thrown) {
      if (!(thrown instanceof HttpCallFault) || thrown.reason !== "unmade") throw thrown;
      if (unreached.size >= ORIGINS_KEPT) unreached.clear();
      unreached.set(origin, clock.monotonic() + BY_FETCH_MS);
      const leftMs = request.timeoutMs - (clock.monotonic() - begun);
      if (leftMs <= 0) throw thrown;
      // Nothing was sent: this is the first time, not the second.
      return await byFetch({ ...request, timeoutMs: leftMs });
    }
  };
}

function callByFetch(http: HttpClient, clock: Pick<Clock, "after">): HttpCall {
  return ({ method, url, headers, body, answerBytesMax, timeoutMs }) =>
    withinTime(clock, timeoutMs, async (signal) => {
      const sent = { method, headers, body, redirect: "manual", signal } as const;
      const response = await http.fetch(url, sent).catch((thrown) => {
        throw faultOf(thrown);
      });
      const text = await readText(response.body, answerBytesMax, strictUtf8()).catch(err);
      return {
        status: response.status,
        header: (name) => response.headers.get(name) ?? undefined,
        body: text.ok ? text.value : undefined,
      };
    });
}

function faultOf(thrown: unknown): HttpCallFault {
  // The platform says only in the cause how far it came.
  const why = errorText(thrown instanceof Error ? thrown.cause ?? thrown : thrown);
  // A connection that was never made, a tunnel that the proxy refused included, carried nothing.
  const isUnmade = why.includes("client error (Connect)");
  return new HttpCallFault(isUnmade ? "unmade" : "unanswered", why);
}
