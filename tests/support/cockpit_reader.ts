/**
 * Reads the cockpit in tests: posts turns, follows and pages transcripts. It identifies its viewer
 * by the trusted header.
 *
 * @module
 */

import { createParser } from "eventsource-parser";

/** An event as the cockpit returns it. */
export interface ShownEvent {
  readonly id: string;
  readonly turn_id: string | null;
  readonly kind: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** The cockpit as one viewer sees it. */
export interface CockpitReader {
  post(text: string, key?: string): Promise<string>;
  cancel(turnId: string): Promise<void>;
  /** Returns the last event. */
  newest(): Promise<ShownEvent>;
  /** Returns the whole transcript, oldest first. */
  all(): Promise<readonly ShownEvent[]>;
  /** Follows the transcript from its beginning until `until` returns true. */
  follow(
    until: (event: ShownEvent) => boolean | Promise<boolean>,
  ): Promise<readonly ShownEvent[]>;
}

/** Creates a reader for mia. */
export function cockpitReader(base: () => string): CockpitReader {
  const identity = { "x-user-email": "mia@example.org" };
  const jsonHeaders = { ...identity, "content-type": "application/json" };
  return {
    post: async (text, key = crypto.randomUUID()) => {
      const response = await fetch(`${base()}/api/turns`, {
        method: "POST",
        headers: { ...jsonHeaders, "idempotency-key": key },
        body: JSON.stringify({ agent: "mia", text }),
      });
      const answer = await response.json() as { readonly turn_id?: string };
      if (answer.turn_id === undefined) throw new Error(JSON.stringify(answer));
      return answer.turn_id;
    },
    cancel: async (turnId) => {
      const response = await fetch(`${base()}/api/turns/cancel`, {
        method: "POST",
        headers: jsonHeaders,
        body: JSON.stringify({ agent: "mia", turn_id: turnId }),
      });
      await response.body?.cancel();
      if (response.status !== 202) throw new Error(`status ${response.status}`);
    },
    newest: async () => {
      const response = await fetch(`${base()}/api/transcript?agent=mia&limit=1`, {
        headers: { ...identity, accept: "application/json" },
      });
      const { events: [event] } = await response.json() as { readonly events: ShownEvent[] };
      if (event === undefined) throw new Error("the transcript is empty");
      return event;
    },
    all: async () => {
      const events: ShownEvent[] = [];
      for (let before: string | null = ""; before !== null;) {
        const query = before === "" ? "" : `&before=${before}`;
        const response = await fetch(`${base()}/api/transcript?agent=mia&limit=500${query}`, {
          headers: { ...identity, accept: "application/json" },
        });
        const page = await response.json() as {
          readonly events: readonly ShownEvent[];
          readonly before: string | null;
        };
        events.unshift(...page.events);
        before = page.before;
      }
      return events;
    },
    follow: async (until) => {
      const response = await fetch(`${base()}/api/transcript?agent=mia&limit=500`, {
        headers: identity,
      });
      const seen: ShownEvent[] = [];
      const waiting: ShownEvent[] = [];
      const parser = createParser({
        onEvent: ({ data, event }) => {
          if (event !== "preview" && event !== "hello") waiting.push(JSON.parse(data));
        },
      });
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) {
        parser.feed(decoder.decode(chunk, { stream: true }));
        for (const event of waiting.splice(0)) {
          seen.push(event);
          if (await until(event)) return seen;
        }
      }
      throw new Error("the stream ended before its time");
    },
  };
}
