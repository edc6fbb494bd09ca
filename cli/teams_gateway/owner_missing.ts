/**
 * An agent of the channel teamchat that belongs to nobody there: no message reaches it, and the gateway
 * does not let it register. Pure.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import { quoteShell } from "core/quote.ts";

/** What is said of such an agent; undefined for any other. */
export function ownerMissing(
  { name, channel, ownerAad, ownerEmail }: Pick<
    AgentRecord,
    "name" | "channel" | "ownerAad" | "ownerEmail"
  >,
): Refusal | undefined {
  if (channel !== "teamchat" || ownerAad !== undefined) return undefined;
  const owner = ownerEmail === undefined ? "<e-mail of the owner>" : quoteShell(ownerEmail);
  return refusal(
    "teams-owner-missing",
    `Agent "${name}" has no owner in team chat: no message reaches it, and it cannot register`,
    {
      hints: [
        `fleetctl agents set ${name} --owner-aad <object id of the owner>`,
        `az ad user show --id ${owner} --query id --output tsv`,
      ],
    },
  );
}
