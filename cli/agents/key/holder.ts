/**
 * Agents as holders of dial keys. Their keys are a list in their shard. The first key that an agent
 * proves to the gateway is enrolled automatically (docs/adr/0010-dial-keys-in-the-ledger.md).
 *
 * @module
 */

import type { KeyHolder } from "cli/dial_keys.ts";
import { changeAgent } from "core/ledger/agents.ts";
import { DIAL_KEYS_MAX } from "core/ledger/shard.ts";
import { type AgentName, parseAgentName } from "core/names.ts";
import { ok } from "core/result.ts";

/** The keys of agents. */
export const AGENT_KEYS: KeyHolder<AgentName> = {
  kind: "agent",
  word: "agent",
  verbs: "fleetctl agents key",
  keysMax: DIAL_KEYS_MAX,
  // The gateway enrolls the first proven key. After a revoke that enrollment is refused.
  canEnrollLater: true,
  parse: parseAgentName,
  listing: (name) => `fleetctl agents key list ${name}`,
  record: ({ ports, paths }, { name, decide, ...rest }) =>
    changeAgent(ports, paths, {
      ...rest,
      agent: name,
      decide: (record) => {
        const keys = decide(record.dialKeys);
        return keys.ok ? ok({ dialKeys: keys.value }) : keys;
      },
    }),
};
