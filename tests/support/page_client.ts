/**
 * A client of the cockpit for tests. It uses the same routes, event stream and identity proof as
 * the page.
 *
 * @module
 */

import { attachCockpit } from "cli/up/attach.ts";
import {
  type CockpitClient,
  openEvents,
  postTurn,
  type StreamedEvent,
} from "cli/up/cockpit_client.ts";
import { openHost } from "core/os/host.ts";
import { pathsUnder } from "core/paths.ts";
import type { HttpClient } from "core/ports/http_client.ts";

/** An open transcript of an agent. */
export interface Page {
  readonly client: CockpitClient;
  /** Sends a turn and returns its events, up to and including `turn_ended`. */
  turn(
    agent: string,
    text: string,
    idempotencyKey?: string,
    onEvent?: (event: StreamedEvent) => Promise<void>,
  ): Promise<readonly StreamedEvent[]>;
  close(): void;
}

/** Opens the transcript of an agent (ada by default) under a root. */
export async function openPage(
  root: string,
  options: {
    readonly agent?: string;
    readonly email?: string;
    /** The HTTP client for a gateway that is not on this machine's loopback. */
    readonly http?: HttpClient;
  } = {},
): Promise<Page> {
  const host = openHost({ log: { program: "page-client", level: "error" } });
  const client = await attachCockpit(
    { ...host, http: options.http ?? host.http },
    pathsUnder(root),
    options.email ?? "owner@localhost",
  );
  if (!client.ok) throw new Error(client.error.message);
  const stream = await openEvents(client.value, [`transcript:${options.agent ?? "ada"}`]);
  if (!stream.ok) throw new Error(stream.error.message);
  return {
    client: client.value,
    async turn(agent, text, idempotencyKey = crypto.randomUUID(), onEvent) {
      const posted = await postTurn(client.value, { agent, text, idempotencyKey });
      if (!posted.ok) throw new Error(posted.error.message);
      const seen: StreamedEvent[] = [];
      while (true) {
        const next = await stream.value.events.next();
        if (next.done) throw new Error("the stream ended before the turn");
        if (next.value.data.turn_id !== posted.value) continue;
        seen.push(next.value);
        await onEvent?.(next.value);
        if (next.value.kind === "turn_ended") return seen;
      }
    },
    close: () => stream.value.close(),
  };
}
