/**
 * Facts → desired files, folders, client configs and units. Pure. A fault of one agent or one MCP
 * excludes that one and is listed. Its existing files are held, not removed, and everything else is
 * still reconciled.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import { refusal } from "core/errors.ts";
import type { AgentName, McpName } from "core/names.ts";
import { UNUSABLE_IN_PATHS } from "core/workspace.ts";
import { desiredAgents } from "units/reconcile/desired_agents.ts";
import { desiredLimits } from "units/reconcile/desired_limits.ts";
import { desiredMcps } from "units/reconcile/desired_mcps.ts";
import type { DesiredPart } from "units/reconcile/desired_part.ts";
import { desiredRoles } from "units/reconcile/desired_roles.ts";
import type { Facts } from "units/reconcile/facts.ts";
import type { UnitOwners } from "units/reconcile/server_claims.ts";

/** The complete desired state. */
export interface Desired extends DesiredPart {
  /** Entries whose trees must be installed, sorted by name. */
  readonly vendors: readonly Manifest[];
  /** Agents and MCPs left unchanged because their own facts are faulty. */
  readonly held: Held;
}

/** Agents and MCPs that are left unchanged. */
export interface Held {
  readonly agents: ReadonlySet<AgentName>;
  readonly mcps: ReadonlySet<McpName>;
  readonly paths: ReadonlySet<string>;
}

/**
 * Computes the desired state. `failed` are MCPs whose trees could not be installed. `owners` are
 * the owners of the existing socket units.
 */
export function desire(
  facts: Facts,
  { failed = new Set(), owners = new Map() }: {
    readonly failed?: ReadonlySet<McpName>;
    readonly owners?: UnitOwners;
  } = {},
): Desired {
  const paths = [facts.paths.root, facts.shape.dir, facts.shape.denoDir];
  const unusable = paths.filter((path) => UNUSABLE_IN_PATHS.test(path) || !path.startsWith("/"));
  if (unusable.length > 0) return nothing(unusable);
  const mcps = desiredMcps(facts, failed, owners);
  const agents = desiredAgents(facts, mcps.usable);
  const roles = desiredRoles(facts);
  const parts: readonly DesiredPart[] = [roles, mcps, agents, desiredLimits(facts)];
  return {
    files: parts.flatMap((part) => part.files),
    folders: parts.flatMap((part) => part.folders),
    clients: parts.flatMap((part) => part.clients),
    units: parts.flatMap((part) => part.units),
    faults: parts.flatMap((part) => part.faults),
    faultTags: new Map(parts.flatMap((part) => [...part.faultTags])),
    vendors: mcps.vendors,
    held: {
      agents: new Set([...facts.held?.agents ?? [], ...agents.heldAgents]),
      mcps: new Set([...facts.held?.mcps ?? [], ...mcps.heldMcps]),
      paths: new Set(parts.flatMap((part) => part.heldPaths ?? [])),
    },
  };
}

function nothing(unusable: readonly string[]): Desired {
  const part = {
    files: [],
    folders: [],
    clients: [],
    units: [],
    vendors: [],
    faultTags: new Map(),
  };
  return {
    ...part,
    held: { agents: new Set(), mcps: new Set(), paths: new Set() },
    faults: [refusal(
      "path-unusable",
      `Cannot render units: ${unusable.map((path) => JSON.stringify(path)).join(", ")} ` +
        "cannot be used in a unit; must be absolute and contain none of , \" ' \\ { } :",
    )],
  };
}
