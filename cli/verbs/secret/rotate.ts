/**
 * `fleetctl secret rotate`: replaces a key of this host and renders again the files that contain
 * it. `recipient` replaces the host's own key to the secret store.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { linesReport, type VerbReport } from "cli/output.ts";
import { authorOf, followLedger, planReport, underVerbLock } from "cli/planner.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { rotateHostKey } from "core/secrets/recovery.ts";
import { rotateKeys, type Rotation } from "core/secrets/rotate.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Which key to rotate, and whether what the old one signed stays valid. */
export interface Options {
  readonly what: Rotation | "recipient";
  readonly isRevoked: boolean;
}

/** What becomes invalid with each key, in words for people. */
const EFFECTS: Readonly<Record<Rotation, string>> = {
  "hmac": "every browser session of this host has ended",
  "assertion": "requests in flight to the cockpit are refused",
  "host-op": "verbs that were granted but not yet started are refused",
};

/** Parses the argument. Refuses `--revoke` for a key whose old value is never kept. */
export function parseOptions({ args, switches }: Invocation): Result<Options> {
  const what = args.what as Options["what"];
  const isRevoked = switches.has("revoke");
  if (!isRevoked || what === "hmac" || what === "assertion") return ok({ what, isRevoked });
  return err(refusal(
    "options-invalid",
    `Cannot rotate "${what}" with --revoke: the old key is never kept`,
    { kind: "usage", hints: [`fleetctl secret rotate ${what}`] },
  ));
}

/** Replaces the key, then reconciles the host; `recipient` needs no reconcile. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  const { what, isRevoked } = options;
  const author = authorOf(context, `secret rotate ${what}`);
  return await underVerbLock(context, async () => {
    if (what === "recipient") {
      const done = await rotateHostKey(ports, paths, { ...author, hostname: ports.hostname });
      return done.ok
        ? ok(linesReport({ what, commit: done.value.commit }, [
          `rotated  this host's key to the secret store, ${paths.hostKey}`,
          "copies of the old key still open older versions of the store in the ledger's history;",
          "if a copy may have leaked, replace the secrets too: fleetctl secret list",
        ]))
        : done;
    }
    const rotated = await rotateKeys(ports, paths, { what, isRevoked, ...author });
    if (!rotated.ok) return rotated;
    const followed = await followLedger(context);
    if (!followed.ok) return followed;
    const { gathered, report } = followed.value;
    const isVoid = isRevoked || what === "host-op";
    return ok(planReport(report, gathered, {
      json: { what, revoked: isRevoked, commit: rotated.value.commit },
      last: [
        isVoid
          ? `rotated  ${what}: ${EFFECTS[what]}`
          : `rotated  ${what}: the previous key still verifies until the next rotation`,
      ],
    }));
  });
}
