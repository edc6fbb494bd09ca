/**
 * How far one reconcile reaches. `apply` of the operator reaches the whole host; `mcp add`,
 * `mcp remove` and `apply self` reach one agent: its files, its units, its client config, and what
 * the MCPs that it has need (nothing outside what the agent owns). Pure.
 *
 * @module
 */

import type { AgentName, McpName } from "core/names.ts";
import type { Desired } from "units/reconcile/desired.ts";
import type { DesiredFolder, Tag } from "units/reconcile/desired_part.ts";
import type { Facts } from "units/reconcile/facts.ts";
import type { RenderRecord } from "units/reconcile/record.ts";

/** One agent, and the MCPs whose common parts (shared units, gate rules, trees) come with it. */
export interface Scope {
  readonly agent: AgentName;
  readonly mcps: ReadonlySet<McpName>;
  /** Of those, the ones that another agent of this host keeps: their common parts stay. */
  readonly keptByOthers: ReadonlySet<McpName>;
  /** Of the MCPs of the agent this one alone; all of them when absent. */
  readonly only?: McpName;
}

/** Whose a thing is, in a record or in what is desired. */
interface Owned {
  readonly agent?: string;
  readonly mcp?: string;
}

/** Returns the scope of an agent; `more` are MCPs that it had and that are being taken away. */
export function scopeOf(facts: Facts, agent: AgentName, more: readonly McpName[] = []): Scope {
  const others = facts.agents.filter((other) => other.name !== agent);
  return {
    agent,
    mcps: new Set([...facts.wired.get(agent) ?? [], ...more]),
    keptByOthers: new Set(others.flatMap((other) => facts.wired.get(other.name) ?? [])),
  };
}

/**
 * Returns the scope of one MCP of an agent: what that MCP needs, and what the agent itself needs.
 */
export function scopeOfMcp(facts: Facts, agent: AgentName, mcp: McpName): Scope {
  return { ...scopeOf(facts, agent), mcps: new Set([mcp]), only: mcp };
}

/** Tells whether a thing is left alone; without a scope nothing is. */
export function isOutside(scope: Scope | undefined, owned: Owned): boolean {
  if (scope === undefined) return false;
  if (scope.only !== undefined && owned.mcp !== undefined && owned.mcp !== scope.only) return true;
  if (owned.agent !== undefined) return owned.agent !== scope.agent;
  return owned.mcp === undefined || !(scope.mcps as ReadonlySet<string>).has(owned.mcp);
}

/** Tells whether a recorded thing that this run does not want is left alone all the same. */
export function isLeft(scope: Scope | undefined, owned: Owned): boolean {
  return isOutside(scope, owned) ||
    (scope !== undefined && owned.agent === undefined && owned.mcp !== undefined &&
      (scope.keptByOthers as ReadonlySet<string>).has(owned.mcp));
}

/** Returns what is desired of the scope alone. */
export function narrow(desired: Desired, facts: Facts, scope: Scope | undefined): Desired {
  if (scope === undefined) return desired;
  const isInside = (tag: Tag) => !isOutside(scope, tag);
  const takesSharedKeys = [...scope.mcps].some((name) => takesKeys(facts, name));
  return {
    ...desired,
    files: desired.files.filter((tagged) =>
      isInside(tagged) || (takesSharedKeys && tagged.file.path === facts.paths.sharedEnv)
    ),
    folders: desired.folders.flatMap((folder) => folderInside(folder, scope)),
    clients: desired.clients.filter((client) => client.agent === scope.agent),
    units: desired.units.filter(isInside),
    faults: desired.faults.filter((fault) =>
      desired.faultTags.get(fault)?.some((tag) => isInside(tag)) ?? false
    ),
    vendors: desired.vendors.filter((manifest) => scope.mcps.has(manifest.name)),
  };
}

/** Returns the part of the record that a run with this scope looks at. */
export function narrowRecord(record: RenderRecord, scope: Scope | undefined): RenderRecord {
  if (scope === undefined) return record;
  return {
    ...record,
    files: record.files.filter((file) => !isOutside(scope, file)),
    clients: record.clients.filter((client) => client.agent === scope.agent),
  };
}

/** `mcp add`, step 1: both env files are rebuilt where the manifest speaks of keys. */
function takesKeys(facts: Facts, name: McpName): boolean {
  const manifest = facts.catalog.get(name);
  if (manifest === undefined) return false;
  const keys = [...manifest.requiredEnv, ...manifest.userEnv, ...manifest.optionalEnv];
  return manifest.auth === "env" || keys.length > 0;
}

/** Folders of the host are made where they are missing, and else left as they are. */
function folderInside(folder: DesiredFolder, scope: Scope): readonly DesiredFolder[] {
  if (folder.home === undefined) return [{ ...folder, isModeTheirs: true }];
  return folder.home === scope.agent ? [folder] : [];
}
