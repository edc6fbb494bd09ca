/**
 * `fleetctl host key enroll <hostname> <key>`: lets a host's own unit prove this key at the
 * gateway. The first key of a host is enrolled by its own `apply`; this is for a host whose ledger
 * is not this one, and for a key that replaces another. Idempotent.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { enrollKey, keysWith, parseKeyWords } from "cli/dial_keys.ts";
import { HOST_KEYS } from "cli/host/key/holder.ts";
import type { VerbReport } from "cli/output.ts";
import type { HostName } from "core/names.ts";
import { ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** What is to be enrolled. */
export interface Options {
  readonly name: HostName;
  readonly key: string;
}

/** Parses host and key. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const words = parseKeyWords(HOST_KEYS, invocation);
  return words.ok ? ok({ name: words.value.name, key: words.value.key ?? "" }) : words;
}

/** Adds the key. */
export function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const decide = (keys: readonly string[] = []) => keysWith(HOST_KEYS, options, keys);
  return enrollKey(context, HOST_KEYS, { ...options, decide });
}
