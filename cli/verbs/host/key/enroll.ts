/**
 * `fleetctl host key enroll <hostname> <key>`: allows a host's own unit to prove this key at the
 * gateway. A host's own `apply` enrolls its first key. This verb is for a host with another ledger,
 * and for replacing a key. Idempotent.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { enrollKey, keysWith, parseKeySelector } from "cli/dial_keys.ts";
import { HOST_KEYS } from "cli/host/key/holder.ts";
import type { VerbReport } from "cli/output.ts";
import type { HostName } from "core/names.ts";
import { ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** The key to enroll. */
export interface Options {
  readonly name: HostName;
  readonly key: string;
}

/** Parses host and key. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const selector = parseKeySelector(HOST_KEYS, invocation);
  return selector.ok ? ok({ name: selector.value.name, key: selector.value.key ?? "" }) : selector;
}

/** Adds the key. */
export function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const decide = (keys: readonly string[] = []) => keysWith(HOST_KEYS, options, keys);
  return enrollKey(context, HOST_KEYS, { ...options, decide });
}
