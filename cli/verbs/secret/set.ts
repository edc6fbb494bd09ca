/**
 * `fleetctl secret set`: stores one value in an agent's shard or the shared one. The value arrives
 * through the context, never through options, and is never printed.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { refreshEnvFiles } from "cli/env_files.ts";
import { ensureState } from "cli/facts.ts";
import { linesReport, type VerbReport } from "cli/output.ts";
import { authorOf, hostInputs, readFacts, underVerbLock } from "cli/planner.ts";
import { envPath, laterLines, shardText } from "cli/secret/placed.ts";
import { unreadKey } from "cli/secret/unread.ts";
import { readLedgerWithFallback } from "core/ledger/fallback.ts";
import { findAgent } from "core/ledger/ledger.ts";
import { type KeyName, parseKeyName } from "core/names.ts";
import { ok, type Result } from "core/result.ts";
import { decidePlacement } from "core/secrets/placement.ts";
import { checkRoleKey } from "core/secrets/role_key.ts";
import type { SecretRef } from "core/secrets/shards.ts";
import { callerAgent, isOperator } from "core/verbs/caller.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl secret set`. The context's target names the shard. */
export interface Options {
  readonly key: KeyName;
}

/** Parses the name of the key. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const key = parseKeyName(invocation.args.KEY ?? "");
  return key.ok ? ok({ key: key.value }) : key;
}

/** Stores the value and rewrites the env file that contains it. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { ports, target, caller } = context;
  const { key } = options;
  const ref: SecretRef = target.kind === "agent" ? { key, agent: target.agent } : { key };
  const agent = callerAgent(caller);
  const placed = decidePlacement({ isOperator: isOperator(caller), agent }, ref);
  if (!placed.ok) return placed;
  const value = context.secretValue ?? "";
  const checked = checkRoleKey(key, value);
  if (!checked.ok) return checked;
  const author = authorOf(context, "secret set");
  return await underVerbLock(context, async () => {
    const store = await ensureState(ports, hostInputs(context), author);
    if (!store.ok) return store;
    const known = await checkAgent(context, ref);
    if (!known.ok) return known;
    const stored = await store.value.set(ref, value, author);
    if (!stored.ok) return stored;
    const gathered = await readFacts(context);
    if (!gathered.ok) return gathered;
    const files = await refreshEnvFiles(context, gathered.value.facts, [envPath(context, ref)]);
    const shard = ref.agent === undefined ? "shared" : `agents.${ref.agent}`;
    const isChanged = stored.value.changed.length > 0;
    const unread = unreadKey(ref, gathered.value.catalog.entries.values());
    const set = linesReport(
      { key, shard, changed: isChanged, files, read: unread === undefined },
      [
        `${isChanged ? "set" : "unchanged"}  ${key} in ${shardText(ref)}`,
        ...files.map((path) => `updated  ${path}`),
        ...(files.length === 0 ? [] : ["running programs read it after:", ...laterLines(context)]),
      ],
    );
    return ok(unread === undefined ? set : { ...set, warnings: [unread] });
  });
}

/** Refuses an unknown agent, because no one would find a secret in its shard. */
async function checkAgent(context: VerbContext, ref: SecretRef): Promise<Result<void>> {
  if (ref.agent === undefined) return ok(undefined);
  const ledger = await readLedgerWithFallback(context.ports, context.paths);
  if (!ledger.ok) return ledger;
  const agent = findAgent(ledger.value, ref.agent);
  return agent.ok ? ok(undefined) : agent;
}
