/**
 * The record of an agent as verbs print it in JSON. Names are those of the shard; unset fields are
 * null. Pure.
 *
 * @module
 */

import { textsByKey } from "core/ledger/agent_fields.ts";
import { limitFields } from "core/ledger/limit_fields.ts";
import type { AgentRecord } from "core/ledger/agent.ts";

/** Returns the fields that every verb about agents prints. */
export function recordJson(agent: AgentRecord) {
  const texts = Object.entries(textsByKey(agent)).map(([key, text]) => [key, text ?? null]);
  return {
    channel: agent.channel,
    ...Object.fromEntries(texts),
    admin: agent.isAdmin,
    limits: limitFields(agent.limits) ?? null,
  };
}
