/**
 * Chooses how a request of the connector is sent. If the environment names a proxy, always by
 * `fetch`, so the proxy is never bypassed. Otherwise by the fast client where there is one. If that
 * cannot connect, by `fetch`, which may reach another address of the host. The caller has checked
 * the destination.
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

/** Time before the fast client is tried again for a host that it could not reach. */
const BY_FETCH_MS = 60_000;
const ORIGINS_KEPT = 64;

/** Creates calls over `http`; each rejects with `HttpCallFault` only. */
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
      // Nothing was sent, so this is not a resend.
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
  // Only the error's cause shows how far the request got.
  const why = errorText(thrown instanceof Error ? thrown.cause ?? thrown : thrown);
  // Without a connection nothing was sent; this includes a tunnel that the proxy refused.
  const isUnmade = why.includes("client error (Connect)");
  return new HttpCallFault(isUnmade ? "unmade" : "unanswered", why);
}
