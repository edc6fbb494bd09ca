/**
 * Gathers what decides how this host should look: ledger, catalog, defaults, secrets, runtimes and
 * roles, as one `Facts` for the planner. Reads only, except `ensureState`, which creates what a new
 * root lacks. What cannot be read for one agent or one MCP is listed and hides nothing else.
 *
 * @module
 */

import { defaultLimits, fillLimits } from "core/agent_limits.ts";
import { type Catalog, readCatalog } from "core/catalog/catalog.ts";
import { type Defaults, missingTools, readDefaults, resolveTools } from "core/catalog/defaults.ts";
import { teamchatRole, teamchatUrl } from "cli/teamchat_role.ts";
import { keepCatalog } from "cli/kept_catalog.ts";
import { ensureHostDialKey, readHostDialKey } from "cli/host_dial.ts";
import { hostSession } from "core/dial/host_job.ts";
import { registerUrl } from "core/dial/register_url.ts";
import type { Refusal } from "core/errors.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import type { LedgerPorts } from "core/ledger/git.ts";
import { DEFAULT_ROLES, type HostRoles, parseHostRoles } from "core/ledger/host_roles.ts";
import { type HostLedger, readHosts } from "core/ledger/hosts.ts";
import { readKeptLedger } from "core/ledger/kept.ts";
import { keepHosts } from "core/ledger/kept_hosts.ts";
import type { Ledger } from "core/ledger/ledger.ts";
import { renderWebviewAdmins, renderWebviewLedger } from "core/ledger/maps.ts";
import { type HostMarkers, parseMarkers } from "core/ledger/markers.ts";
import { initRepo, recordHandEdits } from "core/ledger/repository.ts";
import { type HostName, type KeyName, parseMcpName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import type { Random } from "core/ports.ts";
import { err, ok, type Result } from "core/result.ts";
import { readDefinitions, type RuntimeDefinitions } from "core/runtimes/definitions.ts";
import { initSecrets } from "core/secrets/init.ts";
import { renderHostOpKeys, renderSecretEnv, requireRoleKey } from "core/secrets/render.ts";
import { openSecrets, type SecretAuthor, type SecretStore } from "core/secrets/store.ts";
import {
  agentsOnHost,
  type Facts,
  type GatewayRole,
  type LoginRole,
  type Roles,
  type TeamchatRole,
} from "units/reconcile/facts.ts";
import { LOGIN_ENV } from "units/render/roles/login_env.ts";
import { GATEWAY_ENV } from "units/render/roles/role_env.ts";

/** What gathering needs to know about this machine. */
export interface HostSite {
  readonly paths: Paths;
  readonly hostname: HostName;
  readonly uid: number;
  /** Memory of this machine; undefined where nothing is enforced, or it cannot be asked. */
  readonly memoryBytes?: number | undefined;
}

/** The sources of the facts, for verbs that look at one of them. */
export interface Gathered {
  readonly facts: Facts;
  readonly ledger: Ledger;
  readonly catalog: Catalog;
  readonly defaults: Defaults;
  readonly definitions: RuntimeDefinitions;
  readonly secrets: SecretStore;
  readonly roles: HostRoles;
  readonly markers: HostMarkers;
  readonly hosts: HostLedger;
  /** Public half of this host's dial key; undefined when it has none, or a damaged one. */
  readonly hostDialKey: string | undefined;
  /** What could not be read or used, beside the facts. */
  readonly faults: readonly Refusal[];
}

/** Only a real host has a root daemon that could run the jobs of its own unit. */
function hasHostUnit(paths: Paths): boolean {
  return paths.root === "/";
}

/**
 * Creates the ledger, the secret store and the keys of this host where they are missing, and commits
 * what a hand changed.
 */
export async function ensureState(
  ports: LedgerPorts & { readonly random: Random },
  site: HostSite,
  author: SecretAuthor,
): Promise<Result<SecretStore>> {
  const { paths, hostname } = site;
  const repo = await initRepo(ports, paths);
  if (!repo.ok) return repo;
  const recorded = await recordHandEdits(ports, paths);
  if (!recorded.ok) return recorded;
  const store = await initSecrets(ports, paths, { ...author, hostname });
  if (!store.ok || !hasHostUnit(paths)) return store;
  const key = await ensureHostDialKey(ports, paths, { ...author, hostname });
  return key.ok ? store : key;
}

/** What is tried out before it is written. */
export interface TriedFacts {
  readonly agent?: AgentRecord;
  readonly roles?: HostRoles;
  readonly markers?: HostMarkers;
}

/** Reads every source and builds the facts; `tried` stands in for what is on disk. */
export async function gatherFacts(
  ports: LedgerPorts,
  site: HostSite,
  tried: TriedFacts = {},
): Promise<Result<Gathered>> {
  const { paths } = site;
  const changed = tried.agent;
  const { files } = ports;
  const ledger = await readKeptLedger(ports, paths);
  if (!ledger.ok) return ledger;
  const entries = await readCatalog(ports, paths);
  const catalog = entries.ok ? await keepCatalog(ports, paths, entries.value) : entries;
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
  const hosts = records.ok ? await keepHosts(ports, paths, records.value) : records;
  if (!hosts.ok) return hosts;
  const hostKey = hasHostUnit(paths) ? await readHostDialKey(files, paths) : ok(undefined);
  const sources = {
    ledger: changed === undefined ? ledger.value : {
      ...ledger.value,
      agents: new Map([...ledger.value.agents, [changed.name, changed] as const].sort(byName)),
    },
    catalog: catalog.value,
    roles: tried.roles ?? roles.value,
    markers: tried.markers ?? markers.value,
    secrets: secrets.value,
    defaults,
    definitions,
    hosts: hosts.value,
    hostDialKey: hostKey.ok ? hostKey.value : undefined,
  };
  const agents = [...sources.ledger.agents.values()];
  const secret = (key: KeyName) => sources.secrets.get({ key });
  const teamchat = await teamchatRole(files, {
    ...{ ...sources, agents, secret },
    root: paths.root,
  });
  if (!teamchat.ok) return teamchat;
  const built = buildFacts({ ...sources, teamchat: teamchat.value }, site);
  if (!built.ok) return built;
  return ok({
    ...sources,
    facts: built.value.facts,
    faults: [
      ...ledger.value.faults,
      ...catalog.value.faults.map((fault) => fault.refusal),
      ...defaults.faults,
      ...definitions.faults,
      ...hosts.value.faults,
      ...(hostKey.ok ? [] : [hostKey.error]),
      ...built.value.faults,
    ],
  });
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

type Sources = Omit<Gathered, "facts" | "faults"> & {
  readonly teamchat?: TeamchatRole | undefined;
};

function buildFacts(
  from: Sources,
  site: HostSite,
): Result<{ readonly facts: Facts; readonly faults: readonly Refusal[] }> {
  const { paths, hostname, uid } = site;
  const { shards } = from.secrets;
  const agents = agentsOnHost(from.ledger.agents.values(), hostname);
  const dialUrl = dialUrlOf(from, hostname);
  const hostKeys = renderHostOpKeys(shards, paths, hostname);
  const teamsUrl = teamchatUrl({ ...from, marker: from.markers.teamsGateway, hostname });
  const found = rolesOf(from, site, { dialUrl, teamsUrl });
  const env = renderSecretEnv(
    shards,
    agents.map((agent) => ({
      name: agent.name,
      environment: channelEnv(agent, { hostname, dialUrl, teamsUrl }),
    })),
    paths,
  );
  return ok({
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
          // Names that the catalog does not have are reported by the planner.
          ...missingTools(agent, from.catalog, from.defaults),
        ],
      ])),
      runtimes: from.definitions.byName,
      env: hostKeys.ok ? [...env, hostKeys.value] : env,
      roles: found.roles,
      ...limitsOf(from.roles, { agents: agents.length, site }),
      // Under `/` the programs are those of the package.
      shape: paths.root === "/" ? DEFAULT_ROLES.shape : from.roles.shape,
      workspace: from.roles.workdir,
      ...(from.roles.project === undefined ? {} : { project: from.roles.project }),
      // These have no readable version at all. What runs for them was not taken away.
      held: {
        agents: [...from.ledger.unreadable.keys()].filter((name) => !from.ledger.agents.has(name)),
        mcps: from.catalog.faults.flatMap(({ name }) => {
          const parsed = parseMcpName(name);
          return parsed.ok && !from.catalog.entries.has(parsed.value) ? [parsed.value] : [];
        }),
        paths: [...found.heldPaths, ...(hostKeys.ok ? [] : [paths.hostOpKeys])],
      },
    },
    // The old file stays: a good key is never replaced by an empty one.
    faults: [...(hostKeys.ok ? [] : [hostKeys.error]), ...found.faults],
  });
}

/** What agents may take here. Only systemd holds them to it. */
function limitsOf(
  { limits }: HostRoles,
  { agents, site }: { readonly agents: number; readonly site: HostSite },
): Pick<Facts, "limits"> {
  const { memoryBytes, paths } = site;
  if (memoryBytes === undefined || paths.root !== "/") return {};
  const { all, agent } = defaultLimits({ memoryBytes, agents });
  return {
    limits: {
      all: fillLimits(limits?.agents ?? {}, all),
      agent: fillLimits(limits?.agent ?? {}, agent),
    },
  };
}

/** Variables that stand beside an agent's secrets (decision 41). */
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
    // What git signs commits with where the agent has set nothing else.
    EMAIL: `${agent.name}@${hostname}`,
    ...(agent.userEmail === undefined ? {} : { CHANNEL_USER_EMAIL: agent.userEmail }),
  };
}

function dialUrlOf(from: Sources, hostname: HostName): string {
  const marker = from.markers.webviewGateway;
  const listen = from.roles.gateway?.dialListen;
  return registerUrl({
    marker,
    hostname,
    ...(listen === undefined ? {} : { listen }),
  });
}

interface FoundRoles {
  readonly roles: Roles;
  readonly faults: readonly Refusal[];
  /** Env files whose keys could not be read: the old ones stay, and nothing else waits for them. */
  readonly heldPaths: readonly string[];
}

function rolesOf(
  from: Sources,
  site: HostSite,
  { dialUrl, teamsUrl }: { readonly dialUrl: string; readonly teamsUrl: string | undefined },
): FoundRoles {
  const { roles } = from;
  const faults: Refusal[] = [];
  const heldPaths: string[] = [];
  const readKey = (key: string, file: string): string => {
    const value = requireRoleKey(from.secrets.shards, key, { file, hostname: site.hostname });
    if (value.ok) return value.value;
    faults.push(value.error);
    heldPaths.push(file);
    return "";
  };
  return {
    faults,
    heldPaths,
    roles: {
      ...(roles.isDaemonHere ? { daemon: {} } : {}),
      ...(roles.gateway === undefined ? {} : { gateway: gatewayRole(from, site, readKey) }),
      ...(roles.login === undefined ? {} : { login: loginRole(from, site, readKey) }),
      ...(from.teamchat === undefined ? {} : { teamchat: from.teamchat }),
      ...(roles.areDialUnitsHere
        ? {
          dial: {
            registerUrl: dialUrl,
            ...(teamsUrl === undefined ? {} : { teamchatUrl: teamsUrl }),
          },
        }
        : {}),
      ...hostUnit(from, site, dialUrl),
    },
  };
}

/** Where there is a gateway: here, or where the marker says. */
function hostUnit(
  { roles, markers, hostDialKey }: Sources,
  { paths, hostname }: HostSite,
  dialUrl: string,
): Pick<Roles, "host"> {
  const hasGateway = roles.gateway !== undefined ||
    (markers.webviewGateway !== undefined && markers.webviewGateway.host !== hostname);
  if (!hasHostUnit(paths) || !roles.isHostUnitHere || !hasGateway) return {};
  return { host: { registerUrl: dialUrl, publicKey: hostDialKey } };
}

type ReadKey = (key: string, file: string) => string;

function loginRole(
  { roles, secrets }: Sources,
  { paths }: HostSite,
  readKey: ReadKey,
): LoginRole {
  const hmacKey = readKey("WEBVIEW_HMAC_KEY", paths.env(LOGIN_ENV));
  // The cockpit of this host believes signed statements only, so that a login without the key would
  // let nobody in; elsewhere there may be none.
  const isSigning = roles.gateway?.trust === "assertion" ||
    secrets.shards.shared.has("WEBVIEW_ASSERTION_KEY" as KeyName);
  const assertionKey = isSigning
    ? readKey("WEBVIEW_ASSERTION_KEY", paths.env(LOGIN_ENV))
    : undefined;
  const basicUsers = secrets.get({ key: "WEBVIEW_BASIC_USERS" as KeyName });
  const clientSecret = secrets.get({ key: "WEBVIEW_OIDC_CLIENT_SECRET" as KeyName });
  return {
    ...roles.login!,
    hmacKey,
    ...(assertionKey === undefined ? {} : { assertionKey }),
    ...(basicUsers === undefined ? {} : { basicUsers }),
    ...(clientSecret === undefined ? {} : { clientSecret }),
  };
}

function gatewayRole(from: Sources, { paths }: HostSite, readKey: ReadKey): GatewayRole {
  const { roles, ledger, markers, secrets, hosts } = from;
  const agents = [...ledger.agents.values()];
  const { agentStorageMib: storage, eventsDays: days, hosts: names } = roles.gateway ?? {};
  // With `header` no statement of the login proxy is looked at, and there may be no key for one.
  const assertionKey = roles.gateway?.trust === "header"
    ? secrets.get({ key: "WEBVIEW_ASSERTION_KEY" as KeyName })
    : readKey("WEBVIEW_ASSERTION_KEY", paths.env(GATEWAY_ENV));
  return {
    ...roles.gateway!,
    ledgerJson: renderWebviewLedger(agents).text,
    adminsJson: renderWebviewAdmins(agents),
    ...(assertionKey === undefined ? {} : { assertionKey }),
    dialKeys: new Map<string, readonly string[]>([
      ...agents.flatMap(({ name, dialKeys }) => keyed(name, dialKeys)),
      ...[...hosts.hosts.values()].flatMap(({ name, dialKeys }) =>
        keyed(hostSession(name), dialKeys)
      ),
    ]),
    settings: {
      ...(names === undefined ? {} : { WEBVIEW_HOSTS: names.join(",") }),
      ...(storage === undefined ? {} : { WEBVIEW_AGENT_STORAGE_MIB: String(storage) }),
      ...(days === undefined ? {} : { WEBVIEW_EVENTS_DAYS: String(days) }),
      ...(markers.isDialKeyRequired ? { WEBVIEW_DIAL_REQUIRE_KEY: "true" } : {}),
    },
  };
}

function keyed(name: string, keys: readonly string[] | undefined) {
  return keys === undefined ? [] : [[name, keys] as const];
}
