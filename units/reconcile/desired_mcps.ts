/**
 * The desired state of the wired MCPs: socket and service units by sharing, gate files, trees.
 * Pure. A shared socket stays while any agent of the host keeps the MCP.
 *
 * @module
 */

import { byteLength } from "core/text/cut_text.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { needsVendoring, treePath } from "core/catalog/vendor.ts";
import { defined } from "core/defined.ts";
import { parseEnvFile } from "core/text/env_file.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { DAEMON_LIMITS } from "core/limits/daemon.ts";
import type { AgentName, McpName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { ROOT_OWNER } from "core/files/rendered_file.ts";
import { UNUSABLE_IN_PATHS } from "core/workspace.ts";
import type {
  DesiredPart,
  DesiredSocket,
  DesiredUnit,
  Tag,
  TaggedFile,
} from "units/reconcile/desired_part.ts";
import { unitFile, wantedBy } from "units/reconcile/desired_part.ts";
import { serverRightsOf } from "units/reconcile/agent_rights.ts";
import { secretEnv } from "units/reconcile/desired_roles.ts";
import { type Facts, workspaceOf } from "units/reconcile/facts.ts";
import {
  claimsOf,
  lostClaims,
  namesCollide,
  type UnitOwners,
} from "units/reconcile/server_claims.ts";
import { closedPaths } from "units/render/mcp/closed_paths.ts";
import { renderGate } from "units/render/mcp/gate.ts";
import { AGENTS_GROUP, mcpSocketPath, renderMcpSocket } from "units/render/mcp/socket.ts";
import { renderMcpService } from "units/render/mcp/service.ts";

/** Result of `desiredMcps`: a part, and the usable, vendored and held MCPs. */
export interface DesiredMcps extends DesiredPart {
  /** Usable MCPs per agent, in order. */
  readonly usable: ReadonlyMap<AgentName, readonly Manifest[]>;
  readonly vendors: readonly Manifest[];
  readonly heldMcps: ReadonlySet<McpName>;
}

/** Computes the MCP part; MCPs in `failed` are held without a further fault. */
export function desiredMcps(
  facts: Facts,
  failed: ReadonlySet<McpName>,
  owners: UnitOwners,
): DesiredMcps {
  const faults = new Map<Refusal, readonly Tag[]>();
  const held = new Set([...failed, ...facts.held?.mcps ?? []]);
  const wiring = wiringOf(facts, faults, held);
  const files: TaggedFile[] = [];
  const units: DesiredUnit[] = [];
  const workspaces = new Map(facts.agents.flatMap((agent) => {
    const folder = workspaceOf(agent, facts);
    return folder.ok ? [[agent.name, folder.value] as const] : [];
  }));
  const usable = new Map<AgentName, Manifest[]>(facts.agents.map((agent) => [agent.name, []]));
  const ordered = [...wiring].sort(([a], [b]) => a < b ? -1 : 1);
  for (const [name, { manifest, agents }] of ordered) {
    const tooLong = claimsOf(manifest, agents)
      .map(({ agent }) => mcpSocketPath(facts.paths, name, agent)).find(isTooLong);
    if (tooLong === undefined) continue;
    faults.set(socketTooLong(name, tooLong), [{ mcp: name }]);
    held.add(name);
  }
  const wanted = ordered.filter(([name]) => !held.has(name));
  const lost = lostClaims(
    wanted.flatMap(([, { manifest, agents }]) => claimsOf(manifest, agents)),
    owners,
  );
  for (const claim of lost) {
    const { mcp, agent } = claim;
    faults.set(namesCollide(claim), [agent === undefined ? { mcp } : { mcp, agent }]);
  }
  const hasLost = (mcp: McpName, agent: AgentName | undefined) =>
    lost.some((claim) => claim.mcp === mcp && claim.agent === agent);
  for (const [name, { manifest, agents }] of wanted) {
    if (hasLost(name, undefined)) continue;
    for (const agent of agents) if (!hasLost(name, agent)) usable.get(agent)?.push(manifest);
    files.push({ file: renderGate(manifest, facts.paths), mcp: name });
    for (const { agent } of claimsOf(manifest, agents)) {
      // The files of a held agent stay unchanged; gate rules and shared servers are still
      // reconciled.
      if (agent !== undefined && facts.held?.agents?.includes(agent)) continue;
      if (!hasLost(name, agent)) addServer(manifest, agent, { facts, files, units, workspaces });
    }
  }
  return {
    files,
    units,
    faults: [...faults.keys()],
    faultTags: faults,
    folders: [
      { path: facts.paths.mcpRun, mode: 0o755, owner: ROOT_OWNER },
      { path: `${facts.paths.etc}/gate`, mode: 0o755, owner: ROOT_OWNER },
    ],
    clients: [],
    usable: inToolOrder(usable, facts),
    heldMcps: held,
    vendors: [...wiring.values()].map((entry) => entry.manifest)
      .filter(needsVendoring)
      .sort((a, b) => a.name < b.name ? -1 : 1),
  };
}

/** An MCP of the catalog with its agents, in order. */
interface Wired {
  readonly manifest: Manifest;
  readonly agents: AgentName[];
}

/** Returns which agents have which MCP; an MCP that is not in the catalog is held, with a fault. */
function wiringOf(
  facts: Facts,
  faults: Map<Refusal, readonly Tag[]>,
  held: Set<McpName>,
): ReadonlyMap<McpName, Wired> {
  const heldBefore = new Set(held);
  const wiring = new Map<McpName, Wired>();
  for (const { name: agent } of facts.agents) {
    for (const mcp of facts.wired.get(agent) ?? []) {
      const manifest = facts.catalog.get(mcp);
      if (manifest === undefined) {
        if (!heldBefore.has(mcp)) faults.set(notCatalogued(mcp, agent), [{ mcp, agent }]);
        held.add(mcp);
        continue;
      }
      const entry = wiring.get(mcp);
      if (entry === undefined) wiring.set(mcp, { manifest, agents: [agent] });
      else entry.agents.push(agent);
    }
  }
  return wiring;
}

function addServer(
  manifest: Manifest,
  agent: AgentName | undefined,
  to: {
    readonly facts: Facts;
    readonly files: TaggedFile[];
    readonly units: DesiredUnit[];
    /** An agent without a usable workspace is held: `desired_agents.ts` reports the reason. */
    readonly workspaces: ReadonlyMap<AgentName, string>;
  },
): void {
  const { facts, workspaces } = to;
  const workdir = agent === undefined ? undefined : workspaces.get(agent);
  if (agent !== undefined && workdir === undefined) return;
  const { project } = facts;
  const closed = agent === undefined ? [] : closedPaths(manifest, {
    paths: facts.paths,
    agent,
    runtimes: facts.runtimes.values(),
    providers: [...facts.catalog.values()].flatMap(({ oauth }) => oauth?.provider ?? []),
  });
  const context = {
    paths: facts.paths,
    agent,
    workdir,
    closed,
    // A comma would split the path into two folders in a permission list.
    ...(project === undefined || UNUSABLE_IN_PATHS.test(project) ? {} : { project }),
  };
  const socket = renderMcpSocket(manifest, agent, facts.paths);
  const files = [
    unitFile(renderMcpService(manifest, context), facts.paths),
    unitFile(socket, facts.paths),
  ];
  const tag = { mcp: manifest.name, ...defined({ agent }) };
  const values = declaredValues(manifest, agent, facts);
  to.files.push(...files.map((file) => ({ file, ...tag })));
  to.units.push({
    ...tag,
    name: socket.name,
    kind: "mcp",
    socket: desiredSocket(manifest.name, agent, facts.paths),
    inputs: [
      ...files.map((file) => file.content),
      ...values,
    ],
    softInputs: [],
    // Agents that share a server have their turns at different times: its replacement cannot wait.
    ...(agent === undefined ? {} : {
      origin: {
        build: [],
        programs: ["fleetctl-mcp"],
        rights: serverRightsOf(manifest, { agent, workdir, closed, project, values }),
      },
    }),
    programs: [],
    links: needsVendoring(manifest) ? [treePath(facts.paths, manifest.name)] : [],
    wantedBy: wantedBy(socket),
  });
}

/** Must use the path, mode and owner that `renderMcpSocket` gives the unit. */
function desiredSocket(mcp: McpName, agent: AgentName | undefined, paths: Paths): DesiredSocket {
  const path = mcpSocketPath(paths, mcp, agent);
  return agent === undefined
    ? { path, mode: 0o660, owner: { user: "root", group: AGENTS_GROUP } }
    : { path, mode: 0o600, owner: { user: agent, group: agent } };
}

/** Returns the values of the declared keys: a server that runs with an old key is bounced. */
function declaredValues(
  manifest: Manifest,
  agent: AgentName | undefined,
  facts: Facts,
): readonly string[] {
  const keys = [...manifest.requiredEnv, ...manifest.userEnv, ...manifest.optionalEnv];
  if (keys.length === 0) return [];
  const files = [
    facts.paths.sharedEnv,
    ...(agent === undefined ? [] : [facts.paths.agentEnv(agent)]),
  ];
  return files.flatMap((path) => {
    const parsed = parseEnvFile(secretEnv(facts, path)?.content ?? "");
    const values = parsed.ok ? parsed.value : new Map<string, string>();
    return keys.map((key) => `${key}=${values.get(key) ?? ""}`);
  });
}

/** Sorts the entries in the order in which the agent's tools were resolved. */
function inToolOrder(
  usable: ReadonlyMap<AgentName, readonly Manifest[]>,
  facts: Facts,
): ReadonlyMap<AgentName, readonly Manifest[]> {
  return new Map([...usable].map(([agent, manifests]) => {
    const order = facts.wired.get(agent) ?? [];
    return [agent, [...manifests].sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name))];
  }));
}

function isTooLong(path: string): boolean {
  return byteLength(path) > DAEMON_LIMITS.socketPathLengthMax;
}

function notCatalogued(mcp: McpName, agent: AgentName): Refusal {
  return refusal(
    "mcp-not-catalogued",
    `Cannot wire MCP ${JSON.stringify(mcp)} for agent ${JSON.stringify(agent)}: ` +
      "it is not in the catalog, must be added or removed from the agent",
    { hints: ["fleetctl mcp catalog list", `fleetctl mcp remove ${mcp} ${agent}`] },
  );
}

function socketTooLong(mcp: McpName, path: string): Refusal {
  return refusal(
    "socket-path-too-long",
    `Cannot render the socket of MCP ${JSON.stringify(mcp)}: ${JSON.stringify(path)} is longer ` +
      `than a unix socket may be, must be at most ${DAEMON_LIMITS.socketPathLengthMax} bytes`,
    { hints: ["fleetctl up --root /tmp/fleetctl"] },
  );
}
