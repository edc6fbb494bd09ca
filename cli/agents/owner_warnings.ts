/**
 * Warnings about a valid record whose owner still cannot reach the agent. They are printed when the
 * record is created or changed. Pure.
 *
 * @module
 */

import { ownerMissing } from "cli/teams_gateway/owner_missing.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { AgentRecord, Channel } from "core/ledger/agent.ts";

/** Channels that have a default MCP but no connection to a service. */
const NOT_CONNECTED: readonly Channel[] = ["messenger", "workchat"];

/** Returns the warnings about one record. */
export function ownerWarnings(
  record: Pick<AgentRecord, "name" | "channel" | "userEmail" | "ownerAad" | "ownerEmail">,
): readonly Refusal[] {
  return [channelNotConnected(record), ownerMissing(record)].filter((each) => each !== undefined);
}

function channelNotConnected(
  { name, channel, userEmail }: Pick<AgentRecord, "name" | "channel" | "userEmail">,
): Refusal | undefined {
  if (!NOT_CONNECTED.includes(channel)) return undefined;
  return refusal(
    "channel-not-connected",
    `Agent "${name}" has the channel ${channel}, which this version does not connect to any ` +
      "service: its messages are shown in the cockpit only",
    {
      hints: userEmail === undefined
        ? [`fleetctl agents set ${name} --help`]
        : [`fleetctl agents set ${name} --channel webview`],
    },
  );
}
