/**
 * `fleetctl agents key revoke <agent> [key]`: removes keys from the ledger. Within a second the
 * gateway ends each session that proved one of them. An agent whose last key is revoked cannot
 * connect until an operator enrolls another one. Proving a key does not enroll it again.
 *
 * @module
 */

import { AGENT_KEYS } from "cli/agents/key/holder.ts";
import type { VerbContext } from "cli/context.ts";
import { type KeySelector, parseKeySelector, revokeKey } from "cli/dial_keys.ts";
import type { VerbReport } from "cli/output.ts";
import type { AgentName } from "core/names.ts";
import type { Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** The key to revoke; all keys when absent. */
export type Options = KeySelector<AgentName>;

/** Parses agent and key. */
export function parseOptions(invocation: Invocation): Result<Options> {
  return parseKeySelector(AGENT_KEYS, invocation);
}

/** Removes the key, or all of them. */
export function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  return revokeKey(context, AGENT_KEYS, options);
}
