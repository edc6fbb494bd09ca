/**
 * `fleetctl host key revoke <hostname> [key]`: removes keys from the ledger. Within a second the
 * gateway ends each session that proved one of them. A host whose last key is revoked cannot
 * connect until an operator enrolls another one, because `apply` does not enroll again.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { type KeySelector, parseKeySelector, revokeKey } from "cli/dial_keys.ts";
import { HOST_KEYS } from "cli/host/key/holder.ts";
import type { VerbReport } from "cli/output.ts";
import type { HostName } from "core/names.ts";
import type { Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** The key to revoke; all keys when absent. */
export type Options = KeySelector<HostName>;

/** Parses host and key. */
export function parseOptions(invocation: Invocation): Result<Options> {
  return parseKeySelector(HOST_KEYS, invocation);
}

/** Removes the key, or all of them. */
export function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  return revokeKey(context, HOST_KEYS, options);
}
