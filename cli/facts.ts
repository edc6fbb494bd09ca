/**
 * Collects the inputs of a reconcile as one `Facts`: ledger, catalog, defaults, secrets, runtimes
 * and roles. Reads only, except `ensureState`, which creates what a new root lacks. What cannot be
 * read for one agent or one MCP becomes a fault and hides nothing else.
 *
 * @module
 */

import { defaultLimits, fillLimits } from "core/limits/agent.ts";
import { type Catalog, readCatalog } from "core/catalog/catalog.ts";
import { type Defaults, missingTools, readDefaults, resolveTools } from "core/catalog/defaults.ts";
import { rolesOf, type RoleSources } from "cli/role_facts.ts";
import { teamchatRole, teamchatUrl } from "cli/teamchat_role.ts";
import { addLastGoodEntries } from "cli/last_good_catalog.ts";
import { ensureHostDialKey, readHostDialKey } from "cli/host_dial.ts";
import { defined } from "core/defined.ts";
import { registerUrl } from "core/dial/register_url.ts";
import type { Refusal } from "core/errors.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import type { LedgerPorts } from "core/ledger/git.ts";
import { DEFAULT_ROLES, type HostRoles, parseHostRoles } from "core/ledger/host_roles.ts";
import { type HostLedger, readHosts } from "core/ledger/hosts.ts";
import { readLedgerWithFallback } from "core/ledger/fallback.ts";
import { withFallbackHosts } from "core/ledger/fallback_hosts.ts";
import type { Ledger } from "core/ledger/ledger.ts";
import { type HostMarkers, parseMarkers } from "core/ledger/markers.ts";
import { initRepo, recordHandEdits } from "core/ledger/repository.ts";
import { type HostName, parseMcpName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import type { Random } from "core/ports/random.ts";
import { err, ok, type Result } from "core/result.ts";
import { readDefinitions, type RuntimeDefinitions } from "core/runtimes/definitions.ts";
import { initSecrets } from "core/secrets/init.ts";
import { renderHostOpKeys, renderSecretEnv } from "core/secrets/render.ts";
import { openSecrets, type SecretAuthor, type SecretStore } from "core/secrets/store.ts";
import { agentsOnHost, type Facts } from "units/reconcile/facts.ts";

/** What collecting the facts needs to know about this machine. */
export interface HostInputs {
  readonly paths: Paths;
  readonly hostname: HostName;
  readonly uid: number;
  /**
   * Memory of this machine; undefined where limits are not enforced or the value is not readable.
   */
  readonly memoryBytes?: number | undefined;
}

/** The sources of the facts, for verbs that need one of them. */
export interface Sources {
  readonly ledger: Ledger;
  readonly catalog: Catalog;
  readonly defaults: Defaults;
  readonly definitions: RuntimeDefinitions;
  readonly secrets: SecretStore;
  readonly roles: HostRoles;
  readonly markers: HostMarkers;
  readonly hosts: HostLedger;
  /** Public half of this host's dial key; undefined when the key is missing or damaged. */
  readonly hostDialKey: string | undefined;
  /** Faults found while reading. */
  readonly readFaults: readonly Refusal[];
}

/** The facts and their sources. */
export interface Gathered extends Sources {
  readonly facts: Facts;
  /** Everything that could not be read or used. */
  readonly faults: readonly Refusal[];
}

/** Only a real host has a root daemon that can run the jobs of the host's own unit. */
function hasHostUnit(paths: Paths): boolean {
  return paths.root === "/";
}

/**
 * Creates the ledger, the secret store and the keys of this host if they are missing. Commits
 * manual edits of the ledger.
 */
export async function ensureState(
  ports: LedgerPorts & { readonly random: Random },
  inputs: HostInputs,
  author: SecretAuthor,
): Promise<Result<SecretStore>> {
  const { paths, hostname } = inputs;
  const repo = await initRepo(ports, paths);
  if (!repo.ok) return repo;
  const recorded = await recordHandEdits(ports, paths);
  if (!recorded.ok) return recorded;
  const store = await initSecrets(ports, paths, { ...author, hostname });
  if (!store.ok || !hasHostUnit(paths)) return store;
  const key = await ensureHostDialKey(ports, paths, { ...author, hostname });
  return key.ok ? store : key;
}

/** Changes to try before they are written. */
export interface TriedFacts {
  readonly agent?: AgentRecord;
  readonly roles?: HostRoles;
  readonly markers?: HostMarkers;
}

/** Reads every source and builds the facts. `tried` replaces the values on disk. */
export async function gatherFacts(
  ports: LedgerPorts,
  inputs: HostInputs,
  tried: TriedFacts = {},
): Promise<Result<Gathered>> {
  const sources = await readSources(ports, inputs.paths);
  return sources.ok ? await tryFacts(ports, inputs, sources.value, tried) : sources;
}

/** Builds the facts with a change, from sources already read under the same lock. */
export async function tryFacts(
  { files }: Pick<LedgerPorts, "files">,
  inputs: HostInputs,
  read: Sources,
  { agent, roles, markers }: TriedFacts,
): Promise<Result<Gathered>> {
  const { ledger } = read;
  const sources = {
    ...read,
    ledger: agent === undefined ? ledger : {
      ...ledger,
      agents: new Map([...ledger.agents, [agent.name, agent] as const].sort(byName)),
    },
    roles: roles ?? read.roles,
    markers: markers ?? read.markers,
  };
  const teamchat = await teamchatRole(files, {
    ...sources,
    agents: [...sources.ledger.agents.values()],
    secret: (key) => sources.secrets.get({ key }),
    root: inputs.paths.root,
  });
  if (!teamchat.ok) return teamchat;
  const { facts, faults } = buildFacts({ ...sources, teamchat: teamchat.value }, inputs);
  return ok({ ...sources, facts, faults: [...sources.readFaults, ...faults] });
}

async function readSources(ports: LedgerPorts, paths: Paths): Promise<Result<Sources>> {
  const { files } = ports;
  const ledger = await readLedgerWithFallback(ports, paths);
  if (!ledger.ok) return ledger;
  const entries = await readCatalog(ports, paths);
  const catalog = entries.ok ? await addLastGoodEntries(ports, paths, entries.value) : entries;
  if (!catalog.ok) return catalog;
  const roles = parseHostRoles(await files.readText(paths.rolesFile), paths.rolesFile);
  if (!roles.ok) return roles;
  const markers = parseMarkers(await files.readText(paths.hostFile), paths.hostFile);
  if (!markers.ok) return markers;
  const secrets = await openSecrets(ports, paths);
  if (!secrets.ok) return secrets;
  const defaults = await readDefaults(ports, paths, catalog.value);
  const [damage] = defaults.faults;
  if (defaults.isDamaged === true && damage !== undefined) return err(damage);
  const definitions = await readDefinitions(files, paths);
  const records = await readHosts(files, paths);
  const hosts = records.ok ? await withFallbackHosts(ports, paths, records.value) : records;
  if (!hosts.ok) return hosts;
  const hostKey = hasHostUnit(paths) ? await readHostDialKey(files, paths) : ok(undefined);
  return ok({
    ledger: ledger.value,
    catalog: catalog.value,
    roles: roles.value,
    markers: markers.value,
    secrets: secrets.value,
    defaults,
    definitions,
    hosts: hosts.value,
    hostDialKey: hostKey.ok ? hostKey.value : undefined,
    readFaults: [
      ...ledger.value.faults,
      ...catalog.value.faults.map((fault) => fault.refusal),
      ...defaults.faults,
      ...definitions.faults,
      ...hosts.value.faults,
      ...(hostKey.ok ? [] : [hostKey.error]),
    ],
  });
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The sources, and the team-chat role built from them. */
type BuiltFrom = Sources & Pick<RoleSources, "teamchat">;

function buildFacts(
  from: BuiltFrom,
  inputs: HostInputs,
): { readonly facts: Facts; readonly faults: readonly Refusal[] } {
  const { paths, hostname, uid } = inputs;
  const { shards } = from.secrets;
  const agents = agentsOnHost(from.ledger.agents.values(), hostname);
  const dialUrl = dialUrlOf(from, hostname);
  const hostKeys = renderHostOpKeys(shards, paths, hostname);
  const teamsUrl = teamchatUrl({ ...from, marker: from.markers.teamsGateway, hostname });
  const found = rolesOf(from, inputs, { dialUrl, teamsUrl });
  const env = renderSecretEnv(
    shards,
    agents.map((agent) => ({
      name: agent.name,
      environment: channelEnv(agent, { hostname, dialUrl, teamsUrl }),
    })),
    paths,
  );
  return {
    facts: {
      paths,
      hostname,
      rootless: paths.root !== "/" || uid !== 0,
      agents,
      catalog: from.catalog.entries,
      wired: new Map(agents.map((agent) => [
        agent.name,
        [
          ...resolveTools(agent, from.catalog, from.defaults),
          // The planner reports names that the catalog does not have.
          ...missingTools(agent, from.catalog, from.defaults),
        ],
      ])),
      runtimes: from.definitions.byName,
      env: hostKeys.ok ? [...env, hostKeys.value] : env,
      roles: found.roles,
      ...limitsOf(from.roles, { agents: agents.length, inputs }),
      // Under `/` the programs are those of the package.
      shape: paths.root === "/" ? DEFAULT_ROLES.shape : from.roles.shape,
      workspace: from.roles.workdir,
      ...defined({ project: from.roles.project }),
      // These have no readable version. The planner keeps what runs for them.
      held: {
        agents: [...from.ledger.unreadable.keys()].filter((name) => !from.ledger.agents.has(name)),
        mcps: from.catalog.faults.flatMap(({ name }) => {
          const parsed = parseMcpName(name);
          return parsed.ok && !from.catalog.entries.has(parsed.value) ? [parsed.value] : [];
        }),
        paths: [...found.heldPaths, ...(hostKeys.ok ? [] : [paths.hostOpKeys])],
      },
    },
    // Keeps the old file: an unreadable key must not replace a good one by an empty one.
    faults: [...(hostKeys.ok ? [] : [hostKeys.error]), ...found.faults],
  };
}

/** Returns the limits of agents on this host. Only systemd enforces them. */
function limitsOf(
  { limits }: HostRoles,
  { agents, inputs }: { readonly agents: number; readonly inputs: HostInputs },
): Pick<Facts, "limits"> {
  const { memoryBytes, paths } = inputs;
  if (memoryBytes === undefined || paths.root !== "/") return {};
  const { all, agent } = defaultLimits({ memoryBytes, agents });
  return {
    limits: {
      all: fillLimits(limits?.agents ?? {}, all),
      agent: fillLimits(limits?.agent ?? {}, agent),
    },
  };
}

/** Variables in an agent's env file besides its secrets. */
function channelEnv(
  agent: AgentRecord,
  { hostname, dialUrl, teamsUrl }: {
    readonly hostname: HostName;
    readonly dialUrl: string;
    readonly teamsUrl: string | undefined;
  },
): Readonly<Record<string, string>> {
  const isInTeams = agent.channel === "teamchat" && agent.ownerAad !== undefined;
  return {
    ...(isInTeams && teamsUrl !== undefined
      ? { CHANNEL_TEAMCHAT_GATEWAY_URL: teamsUrl, CHANNEL_OWNER_AAD: agent.ownerAad }
      : {}),
    CHANNEL_WEBVIEW_GATEWAY_URL: dialUrl,
    // The address for git commits unless the agent sets another one.
    EMAIL: `${agent.name}@${hostname}`,
    ...defined({ CHANNEL_USER_EMAIL: agent.userEmail }),
  };
}

function dialUrlOf(from: BuiltFrom, hostname: HostName): string {
  const marker = from.markers.webviewGateway;
  const listen = from.roles.gateway?.dialListen;
  return registerUrl({
    marker,
    hostname,
    ...defined({ listen }),
  });
}
