/**
 * `fleetctl secret get`: prints one value. An agent may read what its own env file contains: its
 * shard, with the shared one as fallback. Keys of the host are for operators only.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { verbatimReport, type VerbReport } from "cli/output.ts";
import { refusal } from "core/errors.ts";
import { type KeyName, parseKeyName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { decideReading } from "core/secrets/placement.ts";
import { isRoleKey, resolveKey } from "core/secrets/resolve.ts";
import type { SecretRef } from "core/secrets/shards.ts";
import { openSecrets } from "core/secrets/store.ts";
import { callerAgent, isOperator } from "core/verbs/caller.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl secret get`. The context's target names the shard. */
export interface Options {
  readonly key: KeyName;
}

/** Parses the name of the key. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const key = parseKeyName(invocation.args.KEY ?? "");
  return key.ok ? ok({ key: key.value }) : key;
}

/** Reads the value. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { ports, paths, target, caller } = context;
  const { key } = options;
  const ref: SecretRef = target.kind === "agent" ? { key, agent: target.agent } : { key };
  const agent = callerAgent(caller);
  const allowed = decideReading({ isOperator: isOperator(caller), agent }, ref);
  if (!allowed.ok) return allowed;
  const store = await openSecrets(ports, paths);
  if (!store.ok) return store;
  const shared = store.value.get(ref);
  const found = ref.agent === undefined
    ? shared === undefined ? undefined : { value: shared, from: "shared" as const }
    : resolveKey(store.value.shards, ref.agent, key);
  if (found === undefined) return err(notSet(ref));
  const shard = found.from === "shared" ? "shared" : `agents.${ref.agent}`;
  return ok(verbatimReport({ key, shard, value: found.value }, found.value.split("\n")));
}

function notSet(ref: SecretRef) {
  const where = ref.agent === undefined ? "the shared shard" : `the shard of agent "${ref.agent}"`;
  const flag = ref.agent === undefined ? "" : ` --agent ${ref.agent}`;
  if (ref.agent !== undefined && isRoleKey(ref.key)) {
    // Such a key cannot be set for an agent, so the hint names the shared shard.
    return refusal("secret-absent", `Cannot get "${ref.key}": ${where} has no such key`, {
      hints: [`fleetctl secret get ${ref.key}`],
    });
  }
  return refusal("secret-absent", `Cannot get "${ref.key}": ${where} has no such key`, {
    hints: [`fleetctl secret set ${ref.key}${flag}`],
  });
}
