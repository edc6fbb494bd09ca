/**
 * Adds, changes and removes one agent in the ledger. Edits the text of its shard, checks rules
 * across shards under the lock (one agent per e-mail and owner), and makes one commit per call.
 * Creates no users and renders nothing: reconcile does that.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import type { LedgerPorts } from "core/ledger/git.ts";
import { readLedgerWithFallback } from "core/ledger/fallback.ts";
import { checkUnique } from "core/ledger/ledger.ts";
import { commitChange, type Committed } from "core/ledger/repository.ts";
import { editShard, parseShard, printShard, type ShardEdit, shardFile } from "core/ledger/shard.ts";
import type { AgentName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";

/** Author of a change, for its commit. */
export interface LedgerAuthor {
  /** The verb as typed: `agents add`. */
  readonly verb: string;
  readonly caller: string;
}

/** A change of one agent's shard. */
export interface AgentChange extends LedgerAuthor {
  readonly agent: AgentName;
  /** Rest of the commit's subject: `"git" to agent "ada"`. */
  readonly summary: string;
  /** Returns the fields to change, given the current record under the lock. */
  readonly decide: (record: AgentRecord) => Result<ShardEdit>;
}

/** Writes the shard of a new agent; refuses a taken name, e-mail address or owner. */
export async function addAgent(
  ports: LedgerPorts,
  paths: Paths,
  { record, verb, caller }: LedgerAuthor & { readonly record: AgentRecord },
): Promise<Result<Committed>> {
  const text = printShard(record);
  const readable = parseShard(text, shardFile(record.name));
  if (!readable.ok) return readable;
  return await commitChange(ports, paths, {
    verb,
    caller,
    summary: `agent "${record.name}"`,
    check: () => checkRecord(ports, paths, record),
    edits: [{
      path: paths.agentShard(record.name),
      change: (current) =>
        current === undefined ? ok(text) : err(
          refusal("agent-exists", `Cannot add agent "${record.name}": it is in the ledger`, {
            hints: ["fleetctl agents list"],
          }),
        ),
    }],
  });
}

/** Edits the shard of an agent; keeps its comments and order. */
export async function changeAgent(
  ports: LedgerPorts,
  paths: Paths,
  change: AgentChange,
): Promise<Result<Committed>> {
  const file = shardFile(change.agent);
  return await commitChange(ports, paths, {
    verb: change.verb,
    caller: change.caller,
    summary: change.summary,
    edits: [{
      path: paths.agentShard(change.agent),
      change: async (current) => {
        if (current === undefined) return err(unknown(change.agent));
        const record = parseShard(current, file, paths.agentShard(change.agent));
        if (!record.ok) return record;
        const edit = change.decide(record.value);
        if (!edit.ok) return edit;
        const edited = editShard(current, edit.value, file);
        if (!edited.ok || edited.value === current) return edited;
        const after = parseShard(edited.value, file);
        if (!after.ok) return after;
        const unique = await checkRecord(ports, paths, after.value);
        return unique.ok ? edited : unique;
      },
    }],
  });
}

/** Removes an agent's shard. */
export async function removeAgent(
  ports: LedgerPorts,
  paths: Paths,
  { agent, verb, caller }: LedgerAuthor & { readonly agent: AgentName },
): Promise<Result<Committed>> {
  return await commitChange(ports, paths, {
    verb,
    caller,
    summary: `agent "${agent}"`,
    edits: [{
      path: paths.agentShard(agent),
      change: (current) => current === undefined ? err(unknown(agent)) : ok(undefined),
    }],
  });
}

async function checkRecord(
  ports: LedgerPorts,
  paths: Paths,
  record: AgentRecord,
): Promise<Result<void>> {
  const ledger = await readLedgerWithFallback(ports, paths);
  return ledger.ok ? checkUnique(ledger.value, record) : ledger;
}

function unknown(agent: AgentName) {
  return refusal("agent-unknown", `Cannot find agent "${agent}": it is not in the ledger`, {
    hints: ["fleetctl agents list", `fleetctl agents add ${agent} --channel webview`],
  });
}
