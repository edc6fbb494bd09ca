/**
 * What the ledger says of an agent, as verbs print it in JSON. Names are those of the shard; what is
 * not set is null. Pure.
 *
 * @module
 */

import { limitFields } from "core/ledger/limit_fields.ts";
import type { AgentRecord } from "core/ledger/agent.ts";

/** Returns the fields that every verb about agents prints. */
export function recordJson(agent: AgentRecord) {
  return {
    channel: agent.channel,
    user_email: agent.userEmail ?? null,
    owner_aad: agent.ownerAad ?? null,
    owner_email: agent.ownerEmail ?? null,
    runtime: agent.runtime,
    provider: agent.provider ?? null,
    model: agent.model ?? null,
    run_on: agent.runOn ?? null,
    workspace: agent.workspace ?? null,
    admin: agent.isAdmin,
    limits: limitFields(agent.limits) ?? null,
  };
}
