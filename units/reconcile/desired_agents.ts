/**
 * The desired state of the host's agents: env file, permission sets, client config, dial unit,
 * token folders. Pure. A dial unit restarts only when its own unit, its client config or its
 * programs change.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import { defined } from "core/defined.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { RenderedFile } from "core/files/rendered_file.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import type { AgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import type { RuntimeDefinition } from "core/runtimes/definition.ts";
import { shippedDefinitions } from "core/runtimes/definitions.ts";
import { mcpEntriesPath } from "core/runtimes/mcp_entries.ts";
import { parseEnvFile } from "core/text/env_file.ts";
import { rightsOf } from "units/reconcile/agent_rights.ts";
import type {
  DesiredFolder,
  DesiredPart,
  DesiredUnit,
  Tag,
  TaggedFile,
} from "units/reconcile/desired_part.ts";
import { unitFile, wantedBy } from "units/reconcile/desired_part.ts";
import { secretEnv } from "units/reconcile/desired_roles.ts";
import { type Facts, workspaceOf } from "units/reconcile/facts.ts";
import { type ClientConfig, renderClientEntry } from "units/render/client_config.ts";
import { renderLaunchers } from "units/render/launchers.ts";
import { writableFolders } from "units/render/mcp/service.ts";
import { renderAgentPermissions } from "units/render/permission_files.ts";
import { renderDial } from "units/render/roles/dial.ts";
import { renderAgentCeiling, renderAgentEnv } from "units/render/roles/role_env.ts";

/** Result of `desiredAgents`: a part of the desired state, and the agents that stay unchanged. */
export interface DesiredAgents extends DesiredPart {
  readonly heldAgents: ReadonlySet<AgentName>;
}

interface AgentPart {
  readonly files: readonly RenderedFile[];
  readonly folders: readonly DesiredFolder[];
  readonly client: ClientConfig;
  readonly units: readonly DesiredUnit[];
}

/** Computes the agents' part; `usable` are the MCPs that each agent can have now. */
export function desiredAgents(
  facts: Facts,
  usable: ReadonlyMap<AgentName, readonly Manifest[]>,
): DesiredAgents {
  const files: TaggedFile[] = [];
  const folders: DesiredFolder[] = [];
  const clients: ClientConfig[] = [];
  const units: DesiredUnit[] = [];
  const faults = new Map<Refusal, readonly Tag[]>();
  const heldAgents = new Set<AgentName>();
  const launchers = renderLaunchers(facts.shape, facts.paths)
    .filter((file) => DIAL_PROGRAMS.some((name) => file.path === facts.paths.program(name)))
    .map((file) => file.content);
  const shipped = shippedDefinitions();
  for (const agent of facts.agents) {
    if (facts.held?.agents?.includes(agent.name)) continue;
    const manifests = usable.get(agent.name) ?? [];
    const part = desiredAgent(agent, { manifests, launchers, shipped, facts });
    if (!part.ok) {
      faults.set(part.error, [{ agent: agent.name }]);
      heldAgents.add(agent.name);
      continue;
    }
    files.push(...part.value.files.map((file) => ({ file, agent: agent.name })));
    folders.push(...part.value.folders);
    clients.push(part.value.client);
    units.push(...part.value.units);
  }
  return {
    files,
    folders,
    clients,
    units,
    faults: [...faults.keys()],
    faultTags: faults,
    heldAgents,
  };
}

function ceilingFile(agent: AgentRecord, { paths }: Facts): readonly RenderedFile[] {
  const file = renderAgentCeiling(agent, paths);
  return file === undefined ? [] : [file];
}

function desiredAgent(
  agent: AgentRecord,
  from: {
    readonly manifests: readonly Manifest[];
    /** Texts of the launchers of programs that run as the agent. */
    readonly launchers: readonly string[];
    readonly shipped: ReadonlyMap<string, RuntimeDefinition>;
    readonly facts: Facts;
  },
): Result<AgentPart> {
  const { manifests, launchers, facts } = from;
  const { paths } = facts;
  const runtime = facts.runtimes.get(agent.runtime);
  if (runtime === undefined) return err(runtimeUnknown(agent, facts));
  const workspace = workspaceOf(agent, facts);
  if (!workspace.ok) return workspace;
  const rights = rightsOf(agent, { ...from, runtime, workspace: workspace.value });
  const registerUrl = facts.roles.dial?.registerUrl;
  const env = renderAgentEnv(agent, secretEnv(facts, paths.agentEnv(agent.name)), {
    paths,
    registerUrl,
  });
  if (!env.ok) return env;
  const secrets = valuesOf(env.value);
  const client = clientConfig(agent, runtime, { manifests, facts });
  const permissions = renderAgentPermissions(agent, {
    facts,
    runtime,
    manifests,
    workspace: workspace.value,
    secrets,
  });
  if (!permissions.ok) return permissions;
  // An agent without an owner in a gateway has turns and approvals on its own host.
  const dial = registerUrl === undefined ? undefined : renderDial(agent, {
    paths,
    registerUrl,
    workspace: workspace.value,
    ...defined({ project: facts.project }),
    settings: facts.roles.dial?.settings?.get(agent.name) ?? {},
  });
  const dialFile = dial === undefined ? [] : [unitFile(dial, facts.paths)];
  return ok({
    files: [env.value, permissions.value, ...ceilingFile(agent, facts), ...dialFile],
    folders: [
      ...homeFolder(agent, facts),
      dialFolder(agent, facts),
      ...tokenFolders(agent, manifests, facts),
      ...workFolders(agent, workspace.value, { manifests, facts }),
    ],
    client,
    units: dial === undefined ? [] : [{
      name: dial.name,
      kind: "dial",
      agent: agent.name,
      inputs: [
        ...dialFile.map((file) => file.content),
        JSON.stringify([...client.entries]),
        permissions.value.content,
        ...launchers,
      ],
      softInputs: [env.value.content],
      origin: { build: launchers, programs: DIAL_PROGRAMS, rights },
      programs: DIAL_PROGRAMS,
      links: [],
      wantedBy: wantedBy(dial),
      isStopped: agent.stopped !== undefined,
    }],
  });
}

function valuesOf({ content }: RenderedFile): ReadonlyMap<string, string> {
  const values = parseEnvFile(content);
  return values.ok ? values.value : new Map();
}

/** Programs of an agent's session: the dial unit and the built-in runtime under it. */
const DIAL_PROGRAMS = ["fleetctl-dial", "fleetctl-runtime"];

function clientConfig(
  agent: AgentRecord,
  runtime: RuntimeDefinition,
  from: {
    readonly manifests: readonly Manifest[];
    readonly facts: Facts;
  },
): ClientConfig {
  const { paths } = from.facts;
  const home = paths.home(agent.name);
  const { shape, path } = runtime.clientConfig;
  const context = { paths, agent: agent.name, shape };
  return {
    agent: agent.name,
    path: fillIn(path, agent.name, from.facts),
    shape,
    at: mcpEntriesPath(shape, home),
    entries: new Map(
      from.manifests.map((manifest) => [manifest.name, renderClientEntry(manifest, context)]),
    ),
  };
}

/** Fills in the placeholders of a runtime definition. */
function fillIn(text: string, agent: AgentName, facts: Facts): string {
  return text.replaceAll("{lib}", facts.paths.lib).replaceAll("{agent}", agent)
    .replaceAll("{home}", facts.paths.home(agent));
}

/**
 * On a host without Unix users, the reconcile must create the home in which the dial unit starts.
 */
function homeFolder(agent: AgentRecord, facts: Facts): readonly DesiredFolder[] {
  if (!facts.rootless) return [];
  return [{
    path: facts.paths.home(agent.name),
    mode: 0o700,
    owner: { user: agent.name, group: agent.name },
    home: agent.name,
  }];
}

/** The dial unit may access only this folder of the home, so it cannot create the folder itself. */
function dialFolder(agent: AgentRecord, facts: Facts): DesiredFolder {
  return {
    path: facts.paths.dialState(agent.name),
    mode: 0o700,
    owner: { user: agent.name, group: agent.name },
    home: agent.name,
  };
}

/** `mcp add`, step 3: a 0700 token folder in the agent's home for `auth: oauth`. */
function tokenFolders(
  agent: AgentRecord,
  manifests: readonly Manifest[],
  facts: Facts,
): readonly DesiredFolder[] {
  const providers = new Set(manifests.flatMap((manifest) => manifest.oauth?.provider ?? []));
  return [...providers].sort().map((provider) => ({
    path: `${facts.paths.home(agent.name)}/.fleetctl/oauth/${provider}`,
    mode: 0o700,
    owner: { user: agent.name, group: agent.name },
    home: agent.name,
  }));
}

/**
 * Returns the workspace and the folders that servers may write to. Servers see the rest of the home
 * read-only, so these folders must exist before they start. All are created with the agent's
 * rights.
 */
function workFolders(
  agent: AgentRecord,
  workspace: string,
  { manifests, facts }: { readonly manifests: readonly Manifest[]; readonly facts: Facts },
): readonly DesiredFolder[] {
  const { paths } = facts;
  const context = { paths, agent: agent.name, workdir: workspace, closed: [] };
  const own = manifests.filter((manifest) =>
    manifest.sharing === "per_user" && manifest.transport === "stdio"
  );
  const inHome = own.flatMap((manifest) => writableFolders(manifest, context))
    .filter((path) => path.startsWith(`${paths.home(agent.name)}/`));
  return [...new Set([workspace, ...inHome])].sort().map((path) => ({
    path,
    mode: 0o700,
    owner: { user: agent.name, group: agent.name },
    home: agent.name,
    keepsMode: true,
  }));
}

function runtimeUnknown(agent: AgentRecord, facts: Facts): Refusal {
  return refusal(
    "runtime-unknown",
    `Cannot render agent ${JSON.stringify(agent.name)}: its runtime ` +
      `${JSON.stringify(agent.runtime)} has no definition, must be one of ` +
      [...facts.runtimes.keys()].map((name) => JSON.stringify(name)).join(", "),
    { hints: [`ls ${facts.paths.runtimesDir}`] },
  );
}
