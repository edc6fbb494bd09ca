/**
 * The systemd slices that enforce the agents' limits. No I/O.
 *
 * ```
 * fleetctl.slice                 everything that works for agents
 *   fleetctl-agents.slice
 *     fleetctl-agents-ada.slice  the dial unit of ada and its own MCP servers
 *   mcp-notes@….service          servers that agents share
 * ```
 *
 * The limits of agents are drop-ins: one file for all agents, and a file of the same name for an
 * agent whose record sets its own limits, which replaces it (systemd.unit(5)). A changed file needs
 * a reload of the manager, but no restart of an agent.
 *
 * @module
 */

import { type RenderedFile, ROOT_OWNER } from "core/files/rendered_file.ts";
import { type AgentLimits, fillLimits, type FullLimits } from "core/limits/agent.ts";
import type { AgentName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { printUnit, type Unit, type UnitEntry } from "core/text/unit_file.ts";
import { agentSlice, FLEET_SLICE } from "units/render/unit_name.ts";

const DROP_IN = "50-limits.conf";
/** Drop-ins of a name with this ending apply to every slice whose name begins with it. */
const EVERY_AGENT = "fleetctl-agents-.slice";
/** Part of an agent's memory limit that may additionally be swapped out. */
const SWAP_SHARE = 1 / 4;

/** Returns the keys that place a service in its agent's slice. */
export function agentSliceEntries(agent: AgentName | undefined): readonly UnitEntry[] {
  return [
    {
      key: "Slice",
      value: agent === undefined ? FLEET_SLICE : agentSlice(agent),
      why: agent === undefined
        ? "Counts towards the limit of all agents"
        : "Counts towards the limit of its agent",
    },
    {
      key: "OOMScoreAdjust",
      value: "200",
      why: "If the host runs out of memory, its own services are ended later",
    },
  ];
}

/** Renders `fleetctl.slice`: the limits of all agents together. */
export function renderFleetSlice(limits: FullLimits): Unit {
  return {
    name: FLEET_SLICE,
    sections: [
      {
        name: "Unit",
        entries: [{ key: "Description", value: "Agents of fleetctl and their MCP servers" }],
      },
      { name: "Slice", entries: sliceEntries(limits) },
    ],
  };
}

/** Renders the drop-in with the default limits of each agent. */
export function renderAgentLimits(limits: FullLimits, paths: Paths): RenderedFile {
  return dropIn(EVERY_AGENT, limits, paths);
}

/** Renders the drop-in of an agent whose record sets limits; undefined for any other. */
export function renderOwnLimits(
  agent: { readonly name: AgentName; readonly limits?: AgentLimits },
  defaults: FullLimits,
  paths: Paths,
): RenderedFile | undefined {
  return agent.limits === undefined
    ? undefined
    : dropIn(agentSlice(agent.name), fillLimits(agent.limits, defaults), paths);
}

function dropIn(slice: string, limits: FullLimits, paths: Paths): RenderedFile {
  const name = `${slice}.d/${DROP_IN}`;
  const swap = Math.floor(limits.memoryMaxBytes * SWAP_SHARE);
  const unit = {
    name,
    sections: [{
      name: "Slice",
      entries: [
        ...sliceEntries(limits),
        {
          key: "MemorySwapMax",
          value: String(swap),
          why: "Idle memory may be swapped out; one command must not fill the host's swap",
        },
      ],
    }],
  };
  return {
    path: `${paths.units}/${name}`,
    content: `# Rendered by fleetctl; changes are overwritten.\n${printUnit(unit)}`,
    mode: 0o644,
    owner: ROOT_OWNER,
    secret: false,
  };
}

function sliceEntries(limits: FullLimits): readonly UnitEntry[] {
  return [
    { key: "MemoryHigh", value: String(limits.memoryHighBytes) },
    { key: "MemoryMax", value: String(limits.memoryMaxBytes) },
    { key: "TasksMax", value: String(limits.tasksMax) },
    { key: "CPUWeight", value: String(limits.cpuWeight) },
    { key: "IOWeight", value: String(limits.ioWeight) },
  ];
}
