/**
 * Waits on the gateway's event stream until an agent is connected. Does not poll.
 *
 * @module
 */

import { type CockpitClient, openEvents } from "cli/up/cockpit_client.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";

/** Time limit for one agent. An agent that needs longer has a fault that waiting does not fix. */
const CONNECT_SECONDS_MAX = 30;

interface Card {
  readonly agent?: unknown;
  readonly is_online?: unknown;
  readonly state?: unknown;
}

/** Returns the agent's state once it is online; a refusal when it is not online in time. */
export async function waitForAgents(
  client: CockpitClient,
  agent: string,
): Promise<Result<string>> {
  const stream = await openEvents(client, ["agents"]);
  if (!stream.ok) return stream;
  const cancel = client.clock.after(CONNECT_SECONDS_MAX * 1000, () => stream.value.close());
  try {
    for await (const event of stream.value.events) {
      // The stream begins with all cards and then sends those that change.
      const cards = (Array.isArray(event.data) ? event.data : [event.data]) as readonly Card[];
      const card = cards.find((one) => one.agent === agent);
      if (card?.is_online === true) return ok(String(card.state));
    }
  } finally {
    cancel();
    stream.value.close();
  }
  return err(
    refusal(
      "agent-not-connected",
      `Cannot reach agent "${agent}": its dial unit did not connect within ` +
        `${CONNECT_SECONDS_MAX} s`,
      { hints: ["fleetctl status"] },
    ),
  );
}
