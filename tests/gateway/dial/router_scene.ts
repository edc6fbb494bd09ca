/**
 * Helpers that the tests of connected agents share: turns of an owner, the transcript, and notices.
 *
 * @module
 */

import type { TestGateway } from "tests/support/gateway_fixture.ts";

/** Headers of a request of mia's owner. */
export const MIA = { "x-user-email": "mia@example.org" };
/** The register fields of another agent. */
export const BOB = { user_email: "bob@example.org", agent: "bob" };

let keys = 0;

/** Posts a turn for mia as her owner. */
export async function postTurn(
  running: TestGateway,
  text: string,
  more: { readonly key?: string; readonly headers?: Readonly<Record<string, string>> } = {},
) {
  const response = await fetch(`${running.cockpitUrl}/api/turns`, {
    method: "POST",
    headers: {
      ...MIA,
      "content-type": "application/json",
      "idempotency-key": more.key ?? `key-${keys++}`,
      ...more.headers,
    },
    body: JSON.stringify({ agent: "mia", text }),
  });
  return await response.json() as {
    readonly turn_id: string;
    readonly state: string;
    readonly code?: string;
  };
}

/** Returns the events of an agent, as its owner reads them. */
export async function transcript(running: TestGateway, agent = "mia") {
  const response = await fetch(`${running.cockpitUrl}/api/transcript?agent=${agent}&limit=500`, {
    headers: { "x-user-email": `${agent}@example.org`, accept: "application/json" },
  });
  const page = await response.json() as {
    readonly events: readonly {
      readonly kind: string;
      readonly turn_id: string | null;
      readonly payload: Readonly<Record<string, unknown>>;
    }[];
  };
  return page.events;
}

/** The simplest event. */
export const notice = (seq: number, text = `n${seq}`) => ({
  type: "event",
  event: { seq, at: 1, kind: "notice", payload: { text } },
});
