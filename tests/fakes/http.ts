/**
 * Outgoing HTTP that a function answers.
 *
 * @module
 */

import type { HttpClient } from "core/ports/http_client.ts";

/** An HTTP client and the requests that it got. */
export interface FakeHttp extends HttpClient {
  readonly requests: readonly Request[];
}

/** Creates a client whose requests are answered by `handler`. */
export function fakeHttp(
  handler: (request: Request) => Response | Promise<Response> = () =>
    new Response(null, { status: 404 }),
): FakeHttp {
  const requests: Request[] = [];
  return {
    requests,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      requests.push(request.clone());
      return await handler(request);
    },
  };
}
