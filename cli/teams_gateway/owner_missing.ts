/**
 * Warns about an agent of the channel teamchat without an owner in team chat. Such an agent gets no
 * messages, and the gateway refuses its registration. Pure.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import { quoteShell } from "core/text/quote.ts";

/** Returns the warning about such an agent; undefined for any other. */
export function ownerMissing(
  { name, channel, ownerAad, ownerEmail }: Pick<
    AgentRecord,
    "name" | "channel" | "ownerAad" | "ownerEmail"
  >,
): Refusal | undefined {
  if (channel !== "teamchat" || ownerAad !== undefined) return undefined;
  return refusal(
    "teams-owner-missing",
    `Agent "${name}" has no owner in team chat: no message reaches it, and it cannot register`,
    {
      hints: ownerEmail === undefined
        ? [
          "az ad user list --query '[].[id,mail]' --output tsv",
          `fleetctl agents set ${name} --help`,
        ]
        : [
          `fleetctl agents set ${name} --owner-aad ` +
          `"$(az ad user show --id ${quoteShell(ownerEmail)} --query id --output tsv)"`,
        ],
    },
  );
}
