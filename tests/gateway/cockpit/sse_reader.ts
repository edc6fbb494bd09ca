/**
 * Reads an event stream of a test gateway, parsed by hand as a browser would.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { TestGateway } from "tests/support/gateway_fixture.ts";

/** One event. */
export interface SseEvent {
  readonly id: string | undefined;
  readonly event: string;
  // deno-lint-ignore no-explicit-any -- payloads are checked field by field
  readonly data: any;
}

/** Reads events from a body, one at a time. */
export function sseReader(body: ReadableStream<Uint8Array> | null) {
  assert.ok(body);
  const source = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  const parse = (block: string): SseEvent | undefined => {
    const fields = new Map(
      block.split("\n").filter((line) => !line.startsWith(":")).map((line) => {
        const colon = line.indexOf(": ");
        return [line.slice(0, colon), line.slice(colon + 2)] as const;
      }),
    );
    const [event, data] = [fields.get("event"), fields.get("data")];
    if (event === undefined || data === undefined) return undefined;
    return { id: fields.get("id"), event, data: JSON.parse(data) };
  };
  const next = async (): Promise<SseEvent | undefined> => {
    while (true) {
      const end = text.indexOf("\n\n");
      if (end >= 0) {
        const found = parse(text.slice(0, end));
        text = text.slice(end + 2);
        if (found !== undefined) return found;
        continue;
      }
      const { value, done } = await source.read();
      if (done) return undefined;
      text += decoder.decode(value, { stream: true });
    }
  };
  return {
    next,
    until: async (event: string): Promise<SseEvent> => {
      for (let found = await next(); found !== undefined; found = await next()) {
        if (found.event === event) return found;
      }
      throw new Error(`the stream ended before ${event}`);
    },
    cancel: () => source.cancel(),
  };
}

/** Opens a stream as mia, or as the person of the headers. */
export async function openSse(
  running: TestGateway,
  path: string,
  headers: Record<string, string> = {},
) {
  const response = await fetch(`${running.cockpitUrl}${path}`, {
    headers: { "x-user-email": "mia@example.org", ...headers },
  });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  assert.equal(response.headers.get("x-accel-buffering"), "no");
  assert.match(response.headers.get("cache-control") ?? "", /no-transform/);
  return sseReader(response.body);
}
