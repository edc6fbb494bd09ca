/**
 * Asking the OpenID provider, within bounds: no redirect is followed, an answer has a time and a size.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import { LOGIN_LIMITS } from "core/limits.ts";
import type { Clock, HttpClient } from "core/ports.ts";

/** What `oauth4webapi` asks with. */
type Fetch = (
  url: string,
  options: {
    readonly method: string;
    readonly headers: Record<string, string>;
    readonly body?: BodyInit | null | undefined;
  },
) => Promise<Response>;

/** There is no answer, too much of one, or one that says that the provider cannot answer now. */
export class ProviderAway extends Error {
  override readonly name = "ProviderAway";
}

/** Returns a bounded `fetch`; rejects with `ProviderAway`. */
export function boundedFetch(
  { http, clock }: { readonly http: HttpClient; readonly clock: Pick<Clock, "after"> },
): Fetch {
  return async (url, { method, headers, body }) => {
    const late = new AbortController();
    const cancel = clock.after(LOGIN_LIMITS.providerSeconds * 1000, () => {
      late.abort(new DOMException("the provider gave no answer in time", "TimeoutError"));
    });
    try {
      const response = await http.fetch(url, {
        method,
        headers,
        ...(body === undefined ? {} : { body }),
        redirect: "manual",
        signal: late.signal,
      });
      const bytes = await readBytes(response.body, late);
      if (response.status >= 500 || response.status === 429) {
        throw new RangeError(`the provider answers ${response.status}`);
      }
      const isBodyless = [101, 204, 205, 304].includes(response.status);
      return new Response(isBodyless ? null : bytes, {
        status: response.status,
        headers: response.headers,
      });
    } catch (thrown) {
      throw new ProviderAway(errorText(thrown));
    } finally {
      cancel();
    }
  };
}

async function readBytes(
  body: ReadableStream<Uint8Array<ArrayBuffer>> | null,
  late: AbortController,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  const reader = body?.getReader();
  // A body that never comes to its end is given up with its request.
  late.signal.addEventListener("abort", () => void reader?.cancel().catch(() => {}));
  for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
    bytes += read.value.length;
    if (bytes > LOGIN_LIMITS.providerBytesMax) {
      late.abort();
      throw new RangeError("the provider's answer is too long");
    }
    parts.push(read.value);
  }
  late.signal.throwIfAborted();
  return await new Blob(parts).bytes();
}
