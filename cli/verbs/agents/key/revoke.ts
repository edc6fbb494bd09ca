/**
 * `fleetctl agents key revoke <agent> [key]`: takes keys out of the ledger; the gateway ends the
 * session of who proved one of them within a second. An agent whose last key is revoked is shut out
 * until an operator enrolls another: no key comes back by being proven.
 *
 * @module
 */

import { AGENT_KEYS } from "cli/agents/key/holder.ts";
import type { VerbContext } from "cli/context.ts";
import { type KeyWords, parseKeyWords, revokeKey } from "cli/dial_keys.ts";
import type { VerbReport } from "cli/output.ts";
import type { AgentName } from "core/names.ts";
import type { Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** What is to be revoked; without a key, all of them. */
export type Options = KeyWords<AgentName>;

/** Parses agent and key. */
export function parseOptions(invocation: Invocation): Result<Options> {
  return parseKeyWords(AGENT_KEYS, invocation);
}

/** Removes the key, or all of them. */
export function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  return revokeKey(context, AGENT_KEYS, options);
}
