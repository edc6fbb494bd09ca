/**
 * `fleetctl host key revoke <hostname> [key]`: takes keys out of the ledger; the gateway ends the
 * session of who proved one of them within a second. A host whose last key is revoked stays away
 * until an operator enrolls another: `apply` enrolls none again.
 *
 * @module
 */

import { changeKeys, parseKeyWords } from "cli/host/key/change.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { refusal } from "core/errors.ts";
import type { HostName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** What is to be revoked; without a key, all of them. */
export interface Options {
  readonly host: HostName;
  readonly key: string | undefined;
}

/** Parses host and key. */
export function parseOptions(invocation: Invocation): Result<Options> {
  return parseKeyWords(invocation);
}

/** Removes the key, or all of them. */
export function run(context: VerbContext, { host, key }: Options): Promise<Result<VerbReport>> {
  return changeKeys(context, {
    verb: "host key revoke",
    host,
    summary: key === undefined
      ? `every dial key of host "${host}"`
      : `dial key ${key} of host "${host}"`,
    decide: (keys = []) => {
      if (key === undefined) return ok([]);
      if (keys.includes(key)) return ok(keys.filter((one) => one !== key));
      return err(refusal(
        "dial-key-unknown",
        `Cannot revoke dial key "${key}" of host "${host}": it is not enrolled`,
        { hints: ["fleetctl host key list", `fleetctl host key revoke ${host}`] },
      ));
    },
    tell: (left, isSame) => [
      isSame
        ? `unchanged  host "${host}" has no dial key`
        : `revoked  ${key ?? "every dial key"} of host "${host}"`,
      ...(left.length > 0 ? [] : [
        `host "${host}" stays away until it has a key: fleetctl host key enroll ${host} <key>`,
      ]),
    ],
  });
}
