/**
 * `fleetctl secret list`: each secret with its shard, a description of the value and the time of
 * its last change; never a value. An agent sees its own shard, and the shared keys that its own
 * keys do not override. Changes nothing.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import { readLedgerWithFallback } from "core/ledger/fallback.ts";
import { findAgent } from "core/ledger/ledger.ts";
import { type LedgerEntry, readHistory } from "core/ledger/history.ts";
import type { AgentName } from "core/names.ts";
import { ok, type Result } from "core/result.ts";
import { lastChanges } from "core/secrets/changes.ts";
import { openFingerprints } from "core/secrets/fingerprint.ts";
import { parseRecipients, type Recipient } from "core/secrets/recipients.ts";
import { isRoleKey, resolveKey } from "core/secrets/resolve.ts";
import type { SecretRef } from "core/secrets/shards.ts";
import { openSecrets, type SecretStore } from "core/secrets/store.ts";
import { seesHost } from "core/verbs/caller.ts";

/** No options: the context's target names the shard. */
export type Options = Readonly<Record<never, never>>;

const HISTORY_ENTRIES = 10_000;

/** Returns no options: there are none. */
export function parseOptions(): Result<Options> {
  return ok({});
}

/** Reads the store and the history of the ledger. */
export async function run(context: VerbContext): Promise<Result<VerbReport>> {
  const { ports, paths, target } = context;
  const store = await openSecrets(ports, paths);
  if (!store.ok) return store;
  const history = await readHistory(ports, paths, {
    limit: HISTORY_ENTRIES,
    path: paths.secretsFile,
  });
  if (!history.ok) return history;
  const agent = target.kind === "agent" ? target.agent : undefined;
  const listed = agent === undefined
    ? parseRecipients(await ports.files.readText(paths.recipientsFile), paths.recipientsFile)
    : ok([]);
  if (!listed.ok) return listed;
  const rows = await describe(store.value, history.value, agent);
  if (rows.length === 0 && agent !== undefined && seesHost(context.caller)) {
    // An empty list for an unknown agent would look like an agent without secrets.
    const ledger = await readLedgerWithFallback(ports, paths);
    const known = ledger.ok ? findAgent(ledger.value, agent) : ledger;
    if (!known.ok) return known;
  }
  return ok({
    json: { secrets: rows, ...(agent === undefined ? { readers: readersJson(listed.value) } : {}) },
    blocks: [
      {
        kind: "table",
        columns: ["key", "shard", "fingerprint", "changed", "by"],
        rows: rows.map((row): readonly Cell[] => [
          row.key,
          row.shard,
          row.fingerprint ?? "",
          row.changed?.slice(0, 19).replace("T", " ") ?? { text: "before the log", tone: "dim" },
          row.by ?? "",
        ]),
        empty: "There are no secrets here: fleetctl secret set <KEY>",
      },
      ...(agent === undefined
        ? [{ kind: "lines" as const, lines: [`readers: ${readersText(listed.value)}`] }]
        : []),
    ],
  });
}

/** The description of one secret, without its value. */
interface Described {
  readonly key: string;
  readonly shard: string;
  readonly fingerprint: string | undefined;
  readonly changed: string | undefined;
  readonly by: string | undefined;
}

async function describe(
  store: SecretStore,
  history: readonly LedgerEntry[],
  agent: AgentName | undefined,
): Promise<readonly Described[]> {
  const changes = lastChanges(history);
  const fingerprint = await openFingerprints(store.shards);
  const refs = agent === undefined ? store.list() : refsOf(store, agent);
  return await Promise.all(refs.map(async (ref) => {
    const change = changes(ref);
    return {
      key: ref.key,
      shard: ref.agent === undefined ? "shared" : `agents.${ref.agent}`,
      fingerprint: await fingerprint?.(store.get(ref) ?? ""),
      changed: change === undefined ? undefined : new Date(change.when).toISOString(),
      by: change?.caller,
    };
  }));
}

/** Returns the secrets that an agent receives. */
function refsOf(store: SecretStore, agent: AgentName): readonly SecretRef[] {
  return store.list().filter((ref) => {
    if (isRoleKey(ref.key)) return false;
    if (ref.agent !== undefined) return ref.agent === agent;
    return resolveKey(store.shards, agent, ref.key)?.from === "shared";
  });
}

function readersText(listed: readonly Recipient[]): string {
  const names = listed.map(({ label, recipient }) => label || `${recipient.slice(0, 12)}…`);
  const recovery = listed.some(({ label }) => label === "recovery");
  return names.join(", ") +
    (recovery ? "" : " (no recovery key: fleetctl secret recovery add > recovery.key)");
}

function readersJson(listed: readonly Recipient[]) {
  return listed.map(({ label, recipient }) => ({ label, recipient }));
}
