/**
 * Decides which MCP gets which socket unit. Names of MCPs and agents may contain the dash that
 * joins them, so names can collide. For example, MCP `git` of agent `x-ada` and MCP `git-x` of
 * agent `ada` have the same unit and socket path. So have a shared `git-ada` and `git` of `ada`.
 * The current owner keeps the unit. Pure.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { AgentName, McpName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import type { Facts } from "units/reconcile/facts.ts";
import type { RenderRecord } from "units/reconcile/record.ts";
import { mcpSocketUnit } from "units/render/unit_name.ts";

/** An MCP for one agent, or for all agents. */
export interface ServerOwner {
  readonly mcp: string;
  readonly agent: string | undefined;
}

/** An MCP that needs a unit, and the agent that would own it. */
export interface Claim {
  readonly mcp: McpName;
  /** Undefined for a shared server. */
  readonly agent: AgentName | undefined;
}

/** A claim that collides with another owner's. */
export interface LostClaim extends Claim {
  readonly unit: string;
  readonly owner: ServerOwner;
}

/** Existing socket units and their owners. */
export type UnitOwners = ReadonlyMap<string, ServerOwner>;

/** Reads the owners from the record of the last run. */
export function unitOwners(record: RenderRecord, paths: Paths): UnitOwners {
  return new Map(record.files.flatMap(({ path, mcp, agent }) => {
    const name = path.startsWith(`${paths.units}/`) ? path.slice(paths.units.length + 1) : "";
    return mcp === undefined || !name.endsWith(".socket") ? [] : [[name, { mcp, agent }] as const];
  }));
}

/** Returns the claims of each manifest; none for an MCP that is reached by URL. */
export function claimsOf(manifest: Manifest, agents: readonly AgentName[]): readonly Claim[] {
  if (manifest.transport === "http") return [];
  const owners = manifest.sharing === "per_user" ? agents : [undefined];
  return owners.map((agent) => ({ mcp: manifest.name, agent }));
}

/** Returns the claims of a host's agents, sorted by MCP name. */
export function claimsOfHost(facts: Pick<Facts, "agents" | "catalog" | "wired">): readonly Claim[] {
  const wiring = new Map<Manifest, AgentName[]>();
  for (const { name } of facts.agents) {
    for (const mcp of facts.wired.get(name) ?? []) {
      const manifest = facts.catalog.get(mcp);
      if (manifest !== undefined) wiring.set(manifest, [...wiring.get(manifest) ?? [], name]);
    }
  }
  return [...wiring].sort(([a], [b]) => a.name < b.name ? -1 : 1)
    .flatMap(([manifest, agents]) => claimsOf(manifest, agents));
}

/** Returns the claims that do not get their unit, in claim order. */
export function lostClaims(
  claims: readonly Claim[],
  owners: UnitOwners,
): readonly LostClaim[] {
  const winners = new Map<string, Claim>();
  const isOwner = (claim: Claim, unit: string) => {
    const owner = owners.get(unit);
    return owner?.mcp === claim.mcp && owner.agent === claim.agent;
  };
  const units = claims.map((claim) => ({ claim, unit: mcpSocketUnit(claim.mcp, claim.agent) }));
  for (const { claim, unit } of units) if (isOwner(claim, unit)) winners.set(unit, claim);
  for (const { claim, unit } of units) if (!winners.has(unit)) winners.set(unit, claim);
  return units.flatMap(({ claim, unit }) => {
    const owner = winners.get(unit);
    return owner === undefined || owner === claim ? [] : [{ ...claim, unit, owner }];
  });
}

/** Returns the name of a unit's owner, for people. */
export function ownerText({ mcp, agent }: ServerOwner): string {
  return agent === undefined ? `MCP "${mcp}"` : `MCP "${mcp}" of agent "${agent}"`;
}

/** Returns the refusal of an MCP that does not get its unit. */
export function namesCollide(claim: LostClaim): Refusal {
  const { mcp, agent, unit, owner } = claim;
  return refusal(
    "mcp-names-collide",
    `Cannot render ${ownerText({ mcp, agent })}: its unit "${unit}" belongs to ` +
      `${ownerText(owner)}, must belong to this MCP`,
    { hints: [collisionHint(claim)] },
  );
}

/** Returns the command that shows the owner of the unit. */
export function collisionHint({ owner }: LostClaim): string {
  return owner.agent === undefined
    ? "fleetctl mcp catalog list"
    : `fleetctl mcp wired ${owner.agent}`;
}
