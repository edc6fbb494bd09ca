/**
 * Bounded requests to the OpenID provider: no redirects, a timeout, and a maximum answer size.
 *
 * @module
 */

import { withinTime } from "core/concurrency/time_limit.ts";
import { defined } from "core/defined.ts";
import { errorText } from "core/errors.ts";
import { LOGIN_LIMITS } from "core/limits/login.ts";
import { readBytes } from "core/net/bounded_body.ts";
import type { Clock } from "core/ports/clock.ts";
import type { HttpClient } from "core/ports/http_client.ts";

/** The `fetch` that `oauth4webapi` calls. */
type Fetch = (
  url: string,
  options: {
    readonly method: string;
    readonly headers: Record<string, string>;
    readonly body?: BodyInit | null | undefined;
  },
) => Promise<Response>;

/** The provider did not answer, or its answer was too long, or was 429 or 5xx. */
export class ProviderUnavailable extends Error {
  override readonly name = "ProviderUnavailable";
}

/** Returns a bounded `fetch`; rejects with `ProviderUnavailable`. */
export function boundedFetch(
  { http, clock }: { readonly http: HttpClient; readonly clock: Pick<Clock, "after"> },
): Fetch {
  return async (url, { method, headers, body: sent }) => {
    try {
      return await withinTime(clock, LOGIN_LIMITS.providerSeconds * 1000, async (signal) => {
        const response = await http.fetch(url, {
          method,
          headers,
          ...defined({ body: sent }),
          redirect: "manual",
          signal,
        });
        // The timeout also aborts a body that never ends.
        const body = response.body?.pipeThrough(new TransformStream(), { signal }) ?? null;
        const bytes = await readBytes(body, LOGIN_LIMITS.providerBytesMax);
        if (!bytes.ok) throw new RangeError("the provider's answer is too long");
        if (response.status >= 500 || response.status === 429) {
          throw new RangeError(`the provider answers ${response.status}`);
        }
        const isBodyless = [101, 204, 205, 304].includes(response.status);
        return new Response(isBodyless ? null : bytes.value, {
          status: response.status,
          headers: response.headers,
        });
      });
    } catch (thrown) {
      throw new ProviderUnavailable(errorText(thrown));
    }
  };
}
