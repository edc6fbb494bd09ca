/**
 * The scope of one reconcile. The operator's `apply` covers the whole host. `mcp add`, `mcp remove`
 * and `apply self` cover one agent: its files, its units, its client config, and what its MCPs need
 * (nothing outside what the agent owns). Pure.
 *
 * @module
 */

import type { AgentName, McpName } from "core/names.ts";
import type { Desired } from "units/reconcile/desired.ts";
import type { DesiredFolder, Tag } from "units/reconcile/desired_part.ts";
import type { Facts } from "units/reconcile/facts.ts";
import type { RenderRecord } from "units/reconcile/record.ts";

/** One agent, and the MCPs whose common parts (shared units, gate rules, trees) are in scope. */
export interface Scope {
  readonly agent: AgentName;
  readonly mcps: ReadonlySet<McpName>;
  /** Those of the MCPs that another agent of this host keeps: their common parts stay. */
  readonly keptByOthers: ReadonlySet<McpName>;
  /** Limits the scope to this MCP of the agent; all its MCPs when absent. */
  readonly only?: McpName;
}

/** Owner of an item in a record or among the desired items. */
interface Owned {
  readonly agent?: string;
  readonly mcp?: string;
}

/** Returns the scope of an agent; `more` are MCPs that are being removed from it. */
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

/** Returns whether a run must not change an item; false without a scope. */
export function isOutside(scope: Scope | undefined, owned: Owned): boolean {
  if (scope === undefined) return false;
  if (scope.only !== undefined && owned.mcp !== undefined && owned.mcp !== scope.only) return true;
  if (owned.agent !== undefined) return owned.agent !== scope.agent;
  return owned.mcp === undefined || !(scope.mcps as ReadonlySet<string>).has(owned.mcp);
}

/** Returns whether a recorded item stays although this run does not want it. */
export function isLeft(scope: Scope | undefined, owned: Owned): boolean {
  return isOutside(scope, owned) ||
    (scope !== undefined && owned.agent === undefined && owned.mcp !== undefined &&
      (scope.keptByOthers as ReadonlySet<string>).has(owned.mcp));
}

/** Returns the desired items within the scope. */
export function narrow(desired: Desired, facts: Facts, scope: Scope | undefined): Desired {
  if (scope === undefined) return desired;
  const isInside = (tag: Tag) => !isOutside(scope, tag);
  const hasSharedKeys = [...scope.mcps].some((name) => hasKeys(facts, name));
  return {
    ...desired,
    files: desired.files.filter((tagged) =>
      isInside(tagged) || (hasSharedKeys && tagged.file.path === facts.paths.sharedEnv)
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

/** Returns the part of the record that a run with this scope uses. */
export function narrowRecord(record: RenderRecord, scope: Scope | undefined): RenderRecord {
  if (scope === undefined) return record;
  return {
    ...record,
    files: record.files.filter((file) => !isOutside(scope, file)),
    clients: record.clients.filter((client) => client.agent === scope.agent),
  };
}

/** Returns whether the manifest declares keys; if so, `mcp add` rebuilds both env files. */
function hasKeys(facts: Facts, name: McpName): boolean {
  const manifest = facts.catalog.get(name);
  if (manifest === undefined) return false;
  const keys = [...manifest.requiredEnv, ...manifest.userEnv, ...manifest.optionalEnv];
  return manifest.auth === "env" || keys.length > 0;
}

/** Folders of the host are created if missing, and otherwise left unchanged. */
function folderInside(folder: DesiredFolder, scope: Scope): readonly DesiredFolder[] {
  if (folder.home === undefined) return [{ ...folder, keepsMode: true }];
  return folder.home === scope.agent ? [folder] : [];
}
