/**
 * Enrolls the first dial keys of this host's agents (ADR 0010). The key in an agent's home is
 * enrolled while the agent has no `dial_keys` in the ledger. A revoke leaves an empty list, so
 * nothing is enrolled after it. All enrollments of one run are one commit.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { Gathered } from "cli/facts.ts";
import { type HomeReader, readHomeTexts } from "cli/home_text.ts";
import { authorOf, readFacts, reconcileFacts } from "cli/planner.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import { commitChange } from "core/ledger/repository.ts";
import { editShard, isDialKey, parseShard, shardFile } from "core/ledger/shard.ts";
import type { AgentName } from "core/names.ts";
import { ok, type Result } from "core/result.ts";
import type { Report } from "units/reconcile/report.ts";

/** Largest key file that is read. A generated one has 150 bytes. */
const KEY_FILE_BYTES_MAX = 4 * 1024;

/**
 * Returns the public halves of the keys in these agents' homes. Agents without a usable key are
 * left out.
 */
export async function keysInHomes(
  context: HomeReader,
  agents: readonly AgentName[],
): Promise<ReadonlyMap<AgentName, string>> {
  const texts = await readHomeTexts(
    context,
    agents.map((agent) => ({
      agent,
      path: `${context.paths.dialState(agent)}/key.json`,
      bytesMax: KEY_FILE_BYTES_MAX,
    })),
  );
  const found = new Map<AgentName, string>();
  for (const [at, agent] of agents.entries()) {
    const key = publicHalf(texts[at]);
    if (key !== undefined) found.set(agent, key);
  }
  return found;
}

function publicHalf(text: string | undefined): string | undefined {
  if ((text ?? "").length > KEY_FILE_BYTES_MAX) return undefined;
  try {
    const { public: key } = JSON.parse(text ?? "null") as { readonly public?: unknown };
    return typeof key === "string" && isDialKey(key) ? key : undefined;
  } catch {
    // With a damaged key file the dial unit does not start and logs the reason.
    return undefined;
  }
}

/** Enrolls first keys after a reconcile of the whole host, then reconciles once more. */
export async function enrollFirstKeys(
  context: VerbContext,
  verb: string,
  done: { readonly gathered: Gathered; readonly report: Report },
): Promise<
  Result<{
    readonly gathered: Gathered;
    readonly report: Report;
    readonly enrolled: readonly AgentName[];
  }>
> {
  const found = await findFirstKeys(context, done.gathered);
  if (found.size === 0) return ok({ ...done, enrolled: [] });
  const recorded = await recordFirstKeys(context, verb, found);
  if (!recorded.ok) return recorded;
  if (recorded.value.length === 0) return ok({ ...done, enrolled: [] });
  const gathered = await readFacts(context);
  if (!gathered.ok) return gathered;
  const report = await reconcileFacts(context, gathered.value, {
    dryRun: false,
    restartAgents: false,
  });
  if (!report.ok) return report;
  return ok({
    gathered: gathered.value,
    report: joined(done.report, report.value),
    enrolled: recorded.value,
  });
}

async function findFirstKeys(
  context: VerbContext,
  { facts, ledger }: Gathered,
): Promise<ReadonlyMap<AgentName, string>> {
  const keyless = facts.roles.dial === undefined
    ? []
    : facts.agents.filter((agent) =>
      agent.dialKeys === undefined && dials(agent) && !ledger.unreadable.has(agent.name)
    );
  const names = keyless.map(({ name }) => name);
  return await keysInHomes(context, names);
}

/** Whether the agent dials a gateway: only if its owner can reach it. */
export function dials({ channel, userEmail, ownerAad }: AgentRecord): boolean {
  return userEmail !== undefined || (channel === "teamchat" && ownerAad !== undefined);
}

/** Writes the keys of agents that have none yet. Returns the agents whose key was written. */
async function recordFirstKeys(
  context: VerbContext,
  verb: string,
  found: ReadonlyMap<AgentName, string>,
): Promise<Result<readonly AgentName[]>> {
  const { ports, paths } = context;
  const names = [...found.keys()].sort();
  const done = await commitChange(ports, paths, {
    ...authorOf(context, verb),
    summary: names.length === 1
      ? `first dial key ${found.get(names[0] as AgentName)} of agent "${names[0]}"`
      : `first dial keys of ${names.length} agents`,
    edits: names.map((name) => ({
      path: paths.agentShard(name),
      change: (current) => {
        // Another verb may have enrolled or revoked a key since the facts were read.
        const record = current === undefined ? undefined : parseShard(current, shardFile(name));
        if (record?.ok !== true || record.value.dialKeys !== undefined) return ok(current);
        const dialKeys = [found.get(name) ?? ""];
        return editShard(current ?? "", { dialKeys }, shardFile(name));
      },
    })),
  });
  if (!done.ok) return done;
  const changed = new Set(done.value.changed);
  return ok(names.filter((name) => changed.has(shardFile(name))));
}

/** Merges the reports of two runs: the changes of both, and the state after the second. */
function joined(first: Report, second: Report): Report {
  const before = new Map(first.files.map((file) => [file.path, file]));
  const after = second.files.map((file) =>
    file.change === "unchanged" ? before.get(file.path) ?? file : file
  );
  const there = new Set(after.map(({ path }) => path));
  return {
    ...second,
    files: [...first.files.filter(({ path }) => !there.has(path)), ...after],
    units: [...first.units, ...second.units],
    vendored: [...new Set([...first.vendored, ...second.vendored])],
    faults: [...first.faults, ...second.faults],
    warnings: [...new Set([...first.warnings, ...second.warnings])],
  };
}
