/**
 * `fleetctl host key enroll <hostname> <key>`: lets a host's own unit prove this key at the gateway.
 * The first key of a host is enrolled by its own `apply`; this is for a host whose ledger is not this
 * one, and for a key that replaces another. Idempotent.
 *
 * @module
 */

import { changeKeys, parseKeyWords } from "cli/host/key/change.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { refusal } from "core/errors.ts";
import { HOST_KEYS_MAX } from "core/ledger/hosts.ts";
import type { HostName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** What is to be enrolled. */
export interface Options {
  readonly host: HostName;
  readonly key: string;
}

/** Parses host and key. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const words = parseKeyWords(invocation);
  return words.ok ? ok({ host: words.value.host, key: words.value.key ?? "" }) : words;
}

/** Adds the key. */
export function run(context: VerbContext, { host, key }: Options): Promise<Result<VerbReport>> {
  return changeKeys(context, {
    verb: "host key enroll",
    host,
    summary: `dial key ${key} of host "${host}"`,
    decide: (keys = []) => {
      if (keys.includes(key)) return ok(keys);
      return keys.length < HOST_KEYS_MAX ? ok([...keys, key]) : err(refusal(
        "dial-keys-full",
        `Cannot enroll a dial key of host "${host}": it has ${keys.length}, ` +
          `must have at most ${HOST_KEYS_MAX}`,
        { hints: ["fleetctl host key list", `fleetctl host key revoke ${host} <key>`] },
      ));
    },
    tell: (_keys, isSame) => [`${isSame ? "unchanged" : "enrolled"}  ${key} of host "${host}"`],
  });
}
