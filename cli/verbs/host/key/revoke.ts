/**
 * `fleetctl host key revoke <hostname> [key]`: takes keys out of the ledger; the gateway ends the
 * session of who proved one of them within a second. A host whose last key is revoked stays away
 * until an operator enrolls another: `apply` enrolls none again.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { type KeyWords, parseKeyWords, revokeKey } from "cli/dial_keys.ts";
import { HOST_KEYS } from "cli/host/key/holder.ts";
import type { VerbReport } from "cli/output.ts";
import type { HostName } from "core/names.ts";
import type { Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** What is to be revoked; without a key, all of them. */
export type Options = KeyWords<HostName>;

/** Parses host and key. */
export function parseOptions(invocation: Invocation): Result<Options> {
  return parseKeyWords(HOST_KEYS, invocation);
}

/** Removes the key, or all of them. */
export function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  return revokeKey(context, HOST_KEYS, options);
}
