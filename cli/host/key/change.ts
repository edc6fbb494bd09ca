/**
 * What `host key enroll` and `host key revoke` share: one commit in the ledger, then the planner,
 * which renders the list that the gateway reads (docs/adr/0014-the-unit-of-a-host.md).
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { authorOf, followLedger, planReport, underVerbLock } from "cli/planner.ts";
import { refusal } from "core/errors.ts";
import { changeHostKeys } from "core/ledger/hosts.ts";
import { isDialKey } from "core/ledger/shard.ts";
import { type HostName, parseHostName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Parses the two words of these verbs. */
export function parseKeyWords(
  { args }: Invocation,
): Result<{ readonly host: HostName; readonly key: string | undefined }> {
  const host = parseHostName(args.hostname ?? "");
  if (!host.ok) return host;
  const { key } = args;
  if (key === undefined || isDialKey(key)) return ok({ host: host.value, key });
  return err(refusal(
    "dial-key-invalid",
    `Cannot use the dial key of host "${host.value}": it has ${key.length} characters, ` +
      "must be 43 characters of base64url",
    { kind: "usage", hints: ["fleetctl host key list"] },
  ));
}

/** A change of a host's keys. */
export interface HostKeyChange {
  readonly verb: string;
  readonly host: HostName;
  /** Rest of the commit's subject. */
  readonly summary: string;
  readonly decide: (keys: readonly string[] | undefined) => Result<readonly string[]>;
  readonly tell: (keys: readonly string[], isSame: boolean) => readonly string[];
}

/** Records the change and makes this host follow it. */
export async function changeKeys(
  context: VerbContext,
  change: HostKeyChange,
): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  const { verb, host, summary } = change;
  return await underVerbLock(context, async () => {
    let keys: readonly string[] = [];
    const recorded = await changeHostKeys(ports, paths, {
      ...authorOf(context, verb),
      host,
      summary,
      decide: (before) => {
        const decided = change.decide(before);
        if (decided.ok) keys = decided.value;
        return decided;
      },
    });
    if (!recorded.ok) return recorded;
    // Also when nothing changed: an earlier run may have been cut short before this step.
    const followed = await followLedger(context);
    if (!followed.ok) return followed;
    const { gathered, report } = followed.value;
    const isSame = recorded.value.changed.length === 0;
    return ok(planReport(report, gathered, {
      json: { host, keys, changed: !isSame },
      last: change.tell(keys, isSame),
    }));
  });
}
