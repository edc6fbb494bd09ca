/**
 * Reads the ledger into one value: every readable agent, and a fault for every other. Reads files,
 * writes none. A corrupt shard never hides another agent. An e-mail address or owner that two
 * agents claim is a fault of both and valid for neither.
 *
 * @module
 */

import { editHint } from "core/hints/edit_hint.ts";
import { fileKindText } from "core/files/file_kind.ts";
import { FileFault, type Files } from "core/ports/files.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import { fileRefusal } from "core/ledger/file_refusal.ts";
import { parseShard, shardFile } from "core/ledger/shard.ts";
import { type AgentName, parseAgentName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";

/** Shards read at once: enough to hide the latency, few enough for the descriptor limit. */
const CONCURRENT_READS = 32;

/** The agents of the fleet, and the faults of the rest. */
export interface Ledger {
  /** In order of their names. */
  readonly agents: ReadonlyMap<AgentName, AgentRecord>;
  /** One refusal per bad shard, then one per claim that two agents share. */
  readonly faults: readonly Refusal[];
  /**
   * Agents whose shard cannot be read, and the reason. No verb changes them. If such an agent is
   * also in `agents`, its record is from the history (`withFallback`).
   */
  readonly unreadable: ReadonlyMap<AgentName, Refusal>;
}

/** An agent's record from a commit. */
export interface FallbackAgent {
  readonly record: AgentRecord;
  readonly commit: string;
}

/** One shard that was found; `name` is its file name without `.yaml`. */
export interface FoundShard {
  readonly name: string;
  readonly record: Result<AgentRecord>;
}

/** Reads all shards. Refuses only if the folder itself cannot be read. */
export async function readLedger(
  files: Pick<Files, "list" | "readText" | "stat">,
  paths: Paths,
): Promise<Result<Ledger>> {
  let names: readonly string[];
  try {
    names = (await files.list(paths.agentsDir)).filter((name) =>
      name.endsWith(".yaml") && !name.startsWith(".")
    );
  } catch (thrown) {
    return err(fileRefusal(thrown, "read the ledger"));
  }
  const read: (FoundShard | undefined)[] = [];
  for (let start = 0; start < names.length; start += CONCURRENT_READS) {
    const batch = names.slice(start, start + CONCURRENT_READS);
    read.push(...await Promise.all(batch.map((name) => readShard(files, paths, name))));
  }
  return ok(joinLedger(read.filter((shard) => shard !== undefined), paths.agentShard));
}

/**
 * Builds a ledger from parsed shards; adds a fault for each claim that two agents share. `pathOf`
 * returns the path of a shard, for the hints.
 */
function joinLedger(
  shards: readonly FoundShard[],
  pathOf: (agent: AgentName) => string = shardFile,
): Ledger {
  const agents = new Map<AgentName, AgentRecord>();
  const faults: Refusal[] = [];
  const unreadable = new Map<AgentName, Refusal>();
  for (const { name, record } of shards) {
    if (record.ok) agents.set(record.value.name, record.value);
    else {
      faults.push(record.error);
      const agent = parseAgentName(name);
      if (agent.ok) unreadable.set(agent.value, record.error);
    }
  }
  return { agents, faults: [...faults, ...claimFaults(agents, pathOf)], unreadable };
}

/**
 * Adds records from the history for agents whose shards cannot be read. Each such fault then names
 * the commit in use. Claims are checked again with these records included.
 */
export function withFallback(
  ledger: Ledger,
  fallbacks: ReadonlyMap<AgentName, FallbackAgent>,
  pathOf: (agent: AgentName) => string = shardFile,
): Ledger {
  if (fallbacks.size === 0) return ledger;
  const records = [...fallbacks].map(([name, { record }]) => [name, record] as const);
  const agents = new Map([...ledger.agents, ...records].sort(([a], [b]) => a < b ? -1 : 1));
  const unreadable = new Map([...ledger.unreadable].map(([name, fault]) => {
    const commit = fallbacks.get(name)?.commit;
    return [name, commit === undefined ? fault : fallbackFault(fault, `agent "${name}"`, commit)];
  }));
  const changed = new Map([...ledger.unreadable].map(([name, fault]) => [
    fault,
    unreadable.get(name) ?? fault,
  ]));
  const faults = ledger.faults.filter(({ code }) => code !== "claim-shared")
    .map((fault) => changed.get(fault) ?? fault);
  return { agents, faults: [...faults, ...claimFaults(agents, pathOf)], unreadable };
}

/** Adds a line to a fault: its subject continues with the version of a commit. */
export function fallbackFault(fault: Refusal, subject: string, commit: string): Refusal {
  const line = `${subject} continues with its version of commit ${commit.slice(0, 12)}`;
  return { ...fault, details: [...fault.details, line] };
}

/** Finds one agent; refuses an unknown one, or one whose shard cannot be read. */
export function findAgent(ledger: Ledger, name: string): Result<AgentRecord> {
  const parsed = parseAgentName(name);
  if (!parsed.ok) return parsed;
  const agent = ledger.agents.get(parsed.value);
  if (agent !== undefined) return ok(agent);
  const fault = ledger.unreadable.get(parsed.value);
  if (fault !== undefined) return err(fault);
  return err(
    refusal("agent-unknown", `Cannot find agent "${name}": it is not in the ledger`, {
      hints: ["fleetctl agents list", `fleetctl agents add ${name} --channel webview`],
    }),
  );
}

/**
 * Refuses a record whose e-mail address or owner belongs to another agent. Call it before writing a
 * shard.
 */
export function checkUnique(ledger: Ledger, record: AgentRecord): Result<void> {
  for (const other of ledger.agents.values()) {
    if (other.name === record.name) continue;
    for (const [field, key] of [["userEmail", "user_email"], ["ownerAad", "owner_aad"]] as const) {
      const claim = record[field];
      if (claim === undefined || other[field] !== claim) continue;
      return err(refusal(
        "claim-taken",
        `Cannot set ${key} of agent "${record.name}": "${claim}" belongs to agent "${other.name}"`,
        { hints: ["fleetctl agents list"] },
      ));
    }
  }
  return ok(undefined);
}

/** Reads one shard; returns undefined if it was removed while the folder was read. */
async function readShard(
  files: Pick<Files, "readText" | "stat">,
  paths: Paths,
  name: string,
): Promise<FoundShard | undefined> {
  const file = `agents.d/${name}`;
  const path = `${paths.agentsDir}/${name}`;
  const found = (record: Result<AgentRecord>) => ({ name: name.slice(0, -".yaml".length), record });
  const bad = (state: string) =>
    found(err(refusal("shard-invalid", `Cannot read the shard "${file}": ${state}`, {
      details: [`${file}:1: ${state}`],
      hints: [`ls -l ${path}`],
    })));
  try {
    const stat = await files.stat(path);
    if (stat === undefined) return undefined;
    // A link in a shared repository may point to any file that root can read.
    if (stat.kind !== "file") {
      return bad(`it is ${fileKindText(stat.kind)}, must be a regular file`);
    }
    const text = await files.readText(path);
    if (text === undefined) return undefined;
    return text.includes("\ufffd")
      ? bad("it is not UTF-8 text")
      : found(parseShard(text, file, path));
  } catch (thrown) {
    if (!(thrown instanceof FileFault)) throw thrown;
    return bad(thrown.code === "EACCES" ? "permission denied" : thrown.message);
  }
}

function claimFaults(
  agents: ReadonlyMap<AgentName, AgentRecord>,
  pathOf: (agent: AgentName) => string,
): readonly Refusal[] {
  return [
    ...sharedClaims(agents.values(), ["userEmail", "user_email"], pathOf),
    ...sharedClaims(agents.values(), ["ownerAad", "owner_aad"], pathOf),
  ];
}

function sharedClaims(
  agents: Iterable<AgentRecord>,
  [field, key]: readonly ["userEmail" | "ownerAad", string],
  pathOf: (agent: AgentName) => string,
): readonly Refusal[] {
  const holders = new Map<string, AgentName[]>();
  for (const agent of agents) {
    const claim = agent[field];
    if (claim !== undefined) holders.set(claim, [...holders.get(claim) ?? [], agent.name]);
  }
  return [...holders].filter(([, names]) => names.length > 1).map(([claim, names]) =>
    refusal(
      "claim-shared",
      `Cannot map ${key} "${claim}": ${names.length} agents have it, must be one`,
      {
        details: names.map((name) => `${shardFile(name)}: ${key}: is also used by another agent`),
        hints: names.map((name) => editHint(pathOf(name))),
      },
    )
  );
}
