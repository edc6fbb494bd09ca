/**
 * How a request of the connector leaves: by the quick way where there is one, by `fetch` where that does
 * not connect (through a proxy of the environment, by another address of the host). No policy: whom to ask
 * was decided before.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import { type HttpCall, HttpCallFault } from "core/http_call.ts";
import type { Clock, HttpClient } from "core/ports.ts";
import { readBounded } from "teamchat/http_body.ts";

/** How long nobody tries the quick way to a host that it did not reach. */
const BY_FETCH_MS = 60_000;
const ORIGINS_KEPT = 64;

/** Makes calls over `http`; each rejects with `HttpCallFault` alone. */
export function createCalls(http: HttpClient, clock: Pick<Clock, "monotonic">): HttpCall {
  const byFetch = callByFetch(http);
  const quick = http.call;
  if (quick === undefined) return byFetch;
  const unreached = new Map<string, number>();
  return async (request) => {
    const origin = request.url.slice(0, request.url.indexOf("/", "https://".length));
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

function callByFetch(http: HttpClient): HttpCall {
  return async ({ method, url, headers, body, answerBytesMax, timeoutMs }) => {
    let response: Response;
    try {
      response = await http.fetch(url, {
        ...{ method, headers, body, redirect: "manual" },
        signal: AbortSignal.timeout(timeoutMs),
      });
    } catch (thrown) {
      // A connection that was never made carried nothing.
      const isUnmade = /tcp connect error|dns error|connection refused/i.test(errorText(thrown));
      throw new HttpCallFault(isUnmade ? "unmade" : "unanswered", errorText(thrown));
    }
    const text = await readBounded(response.body, answerBytesMax).catch(() => undefined);
    return {
      status: response.status,
      header: (name) => response.headers.get(name) ?? undefined,
      body: text,
    };
  };
}
