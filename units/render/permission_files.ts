/**
 * The files with the expanded permission sets: one for the host's own roles, one per agent. Each
 * also contains the import map and the frozen lock that a program of the source tree needs. No I/O.
 * docs/permissions.md explains each permission.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import { defined } from "core/defined.ts";
import { refusal } from "core/errors.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import type { Paths } from "core/paths.ts";
import { type RenderedFile, ROOT_OWNER } from "core/files/rendered_file.ts";
import { providerHosts } from "core/login/provider_hosts.ts";
import { err, ok, type Result } from "core/result.ts";
import { fillPlaceholders, type RuntimeDefinition } from "core/runtimes/definition.ts";
import { BUBBLEWRAP } from "core/sandbox/host_files.ts";
import type { CloudHosts } from "core/teamchat/cloud.ts";
import { isReceiverSeparate } from "core/teamchat/separate_receiver.ts";
import type { LauncherShape } from "units/render/launchers.ts";
import { mcpSocketPath } from "units/render/mcp/socket.ts";
import {
  EXEC_SET,
  expandSet,
  type PermissionSet,
  permissionTemplates,
  type PermissionValues,
  PROGRAM_SETS,
  projectImports,
} from "units/render/permissions.ts";

type Sets = Readonly<Record<string, PermissionSet>>;

/** Input of a host's sets. */
export interface HostContext {
  readonly paths: Paths;
  readonly shape: LauncherShape;
  /** Agents of this host; absent before its ledger is read. */
  readonly agents?: readonly Pick<AgentRecord, "name">[];
  readonly roles: {
    readonly gateway?: { readonly cockpitListen: string; readonly dialListen: string };
    readonly login?: {
      readonly listen: string;
      /** `host:port` of its cockpit; when absent, this host's cockpit or the default address. */
      readonly upstream?: string;
      readonly settings?: Readonly<Record<string, string>>;
      readonly providerHosts?: readonly string[];
    };
    readonly teamchat?: {
      readonly listen: string;
      readonly registerListen: string;
      readonly hosts: CloudHosts;
      readonly cloudFile: string | undefined;
    };
    readonly host?: { readonly registerUrl: string };
    readonly dial?: {
      readonly registerUrl: string;
      readonly teamchatUrl?: string;
      readonly modelHosts?: ReadonlyMap<string, readonly string[]>;
      readonly settings?: ReadonlyMap<string, Readonly<Record<string, string>>>;
    };
  };
}

/** Input of one agent's sets. */
export interface AgentContext {
  readonly facts: HostContext;
  readonly runtime: Pick<RuntimeDefinition, "command" | "clientConfig">;
  readonly manifests: readonly Manifest[];
  readonly workspace: string;
  /** Values of the agent's env file; they determine which model endpoint its runtime may reach. */
  readonly secrets: ReadonlyMap<string, string>;
}

/** Programs that create and remove worktrees, and run the set-up script. */
const WORKTREE_PROGRAMS = ["git", "sh"];
const AGENT_SETS = ["dial", "runtime", "mcp"];
/** C libraries that the adapters open by absolute path. */
const LIBC = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6"];
/** The home of programs that have none. */
const NO_HOME = "/nonexistent";
const PROVIDER_HOSTS: Readonly<Record<string, string>> = {
  anthropic: "api.anthropic.com:443",
  openai: "api.openai.com:443",
};
/** The demo model is an endpoint of the runtime itself, on a port that the system assigns. */
const DEMO_HOST = "127.0.0.1";

/** Address of a cockpit that this host does not run. */
const COCKPIT_DEFAULT = "127.0.0.1:8731";

/** Expands the sets of the host's roles; those of gateway and login proxy only where they run. */
export function hostPermissions(context: HostContext): Result<Sets> {
  const { gateway, login, teamchat, host } = context.roles;
  const register = hostPort(host?.registerUrl ?? "");
  const values: PermissionValues = {
    ...hostValues(context),
    // The host's `mcp` set is for shared servers, which belong to no agent.
    home: NO_HOME,
    mcp_nets: [],
    mcp_sockets: [],
    mcp_env_files: [],
    ...(gateway === undefined
      ? {}
      : { cockpit_listen: gateway.cockpitListen, dial_listen: gateway.dialListen }),
    ...(login === undefined ? {} : {
      login_listen: login.listen,
      upstream: login.upstream ?? gateway?.cockpitListen ?? COCKPIT_DEFAULT,
      provider_hosts: [
        ...providerHosts(login.settings?.WEBVIEW_OIDC_ISSUER),
        ...login.providerHosts ?? [],
      ],
    }),
    ...defined({ register_host: register }),
    ...(teamchat === undefined ? {} : teamchatValues(teamchat, context.paths)),
  };
  const names = Object.keys(permissionTemplates()).filter((name) =>
    (!AGENT_SETS.includes(name) || name === "mcp") &&
    (name !== "gateway" || gateway !== undefined) && (name !== "login" || login !== undefined) &&
    (name !== "teamchat" || teamchat !== undefined) &&
    (name !== "teamchat-receiver" || teamchat !== undefined && isReceiverSeparate(teamchat)) &&
    (name !== "host-dial" || register !== undefined)
  );
  return expandAll(names, values);
}

/**
 * The team-chat gateway is one process or two. If the receiver is separate, only it gets the public
 * listener and the host of the keys, and both get the socket between them.
 */
function teamchatValues(
  teamchat: NonNullable<HostContext["roles"]["teamchat"]>,
  paths: Paths,
): PermissionValues {
  const { listen, registerListen, hosts, cloudFile } = teamchat;
  const isApart = isReceiverSeparate(teamchat);
  const socket = paths.teamchatHandover;
  return {
    teams_listen: listen,
    teams_inbound: isApart ? [`unix:${socket}`] : [listen],
    teams_register_listen: registerListen,
    teams_key_hosts: hosts.keys,
    teams_hosts: isApart ? hosts.answers : [...hosts.keys, ...hosts.answers],
    teams_handover: isApart ? [socket] : [],
    teams_handover_net: `unix:${socket}`,
    teams_cloud_file: cloudFile === undefined ? [] : [cloudFile],
  };
}

/** Renders the file of the host's roles, and of verbs that run as root: they access its agents. */
export function renderHostPermissions(context: HostContext, sets: Sets): RenderedFile {
  const isRendered = (name: string) => name === EXEC_SET || !isProgramSet(name);
  return configFile(context.paths.permissions, context, chooseSets(sets, isRendered));
}

/**
 * Renders the sets that the package ships with its programs. A host whose rendered files are lost
 * or damaged can therefore still start `fleetctl` and its daemon. Every user's `fleetctl` reads it.
 */
export function renderProgramPermissions(context: HostContext, sets: Sets): RenderedFile {
  return configFile(context.paths.programPermissions, context, chooseSets(sets, isProgramSet));
}

function isProgramSet(name: string): boolean {
  return PROGRAM_SETS.includes(name);
}

function chooseSets(sets: Sets, isChosen: (name: string) => boolean): Sets {
  return Object.fromEntries(Object.entries(sets).filter(([name]) => isChosen(name)));
}

/** Renders the file of one agent. */
export function renderAgentPermissions(
  agent: AgentRecord,
  context: AgentContext,
): Result<RenderedFile> {
  const { facts } = context;
  const { paths } = facts;
  const home = paths.home(agent.name);
  const placeholders = { lib: paths.lib, home, agent: agent.name };
  const register = hostPort(facts.roles.dial?.registerUrl ?? "ws://127.0.0.1:8735");
  if (register === undefined) {
    return err(refusal(
      "register-url-invalid",
      `Cannot render agent ${JSON.stringify(agent.name)}: the register URL is not a URL, ` +
        "must be ws://host:port or wss://host:port",
    ));
  }
  // Only agents of that channel connect there: others get no permission, and no restart when it
  // changes.
  const isInTeams = agent.channel === "teamchat";
  const teamchat = isInTeams ? hostPort(facts.roles.dial?.teamchatUrl ?? "") : undefined;
  const stdio = context.manifests.filter((manifest) => manifest.transport === "stdio");
  const sockets = stdio.map((manifest) =>
    mcpSocketPath(paths, manifest.name, manifest.sharing === "shared" ? undefined : agent.name)
  );
  const urlHosts = mcpHosts(context.manifests);
  const values: PermissionValues = {
    ...hostValues(facts),
    agent: agent.name,
    home,
    register_host: register,
    teamchat_host: teamchat === undefined ? [] : [teamchat],
    runtime_command: fillPlaceholders(context.runtime.command, placeholders),
    workspace: context.workspace,
    worktree_programs: agent.worktrees === "yes" && agent.sandbox !== "on" ? WORKTREE_PROGRAMS : [],
    sandbox_program: agent.sandbox === "on" ? [BUBBLEWRAP] : [],
    client_config: fillPlaceholders(context.runtime.clientConfig.path, placeholders),
    model_hosts: modelHosts(agent, context),
    mcp_sockets: sockets,
    mcp_nets: [...sockets.map((path) => `unix:${path}`), ...urlHosts],
    // Only where a URL needs the agent's keys: servers on sockets get their keys from their unit.
    mcp_env_files: urlHosts.length === 0 ? [] : [paths.sharedEnv, paths.agentEnv(agent.name)],
  };
  const sets = expandAll(AGENT_SETS, values);
  return sets.ok ? ok(configFile(paths.agentPermissions(agent.name), facts, sets.value)) : sets;
}

function hostValues(context: HostContext): PermissionValues {
  const { paths } = context;
  return {
    root: paths.root === "/" ? "" : paths.root,
    // Where verbs may write: everything below a separate root, only fleetctl's folders under `/`.
    writable: paths.root === "/"
      ? [paths.etc, paths.units, paths.state, paths.run, paths.logs, paths.mcpRun]
      : [paths.root],
    // Verbs send requests to dial units. Their sockets are in homes, where verbs write nothing
    // else.
    dial_sockets: paths.root === "/"
      ? (context.agents ?? []).map(({ name }) => paths.dialSocket(name))
      : [],
    lib: paths.lib,
    etc: paths.etc,
    state: paths.state,
    run: paths.run,
    logs: paths.logs,
    mcp_run: paths.mcpRun,
    tree: context.shape.dir,
    deno_dir: context.shape.denoDir,
    // `fleetctl` loads a verb's code at run time, for which Deno needs the read permission.
    programs: context.shape.kind === "tree"
      ? [context.shape.dir, context.shape.denoDir]
      : [`${context.shape.dir}/programs/fleetctl`],
    daemon_socket: paths.daemonSocket,
    manager_socket: paths.managerSocket,
    libc: LIBC,
  };
}

function expandAll(names: readonly string[], values: PermissionValues): Result<Sets> {
  const sets: Record<string, PermissionSet> = {};
  const templates = permissionTemplates();
  for (const name of names) {
    const set = expandSet(name, templates[name] ?? {}, values);
    if (!set.ok) return set;
    sets[name] = set.value;
  }
  return ok(sets);
}

function configFile(path: string, context: HostContext, sets: Sets): RenderedFile {
  const content = printPermissions(context, sets);
  return { path, content, mode: 0o644, owner: ROOT_OWNER, secret: false };
}

/**
 * Prints a Deno config with these sets, and with the other entries that a program of the tree
 * needs.
 */
export function printPermissions(context: Pick<HostContext, "shape">, sets: Sets): string {
  const { shape } = context;
  const source = shape.kind === "bundle" ? { lock: false } : {
    imports: Object.fromEntries(
      Object.entries(projectImports()).map(([name, target]) => [
        name,
        target.startsWith("./") ? fileUrl(`${shape.dir}/${target.slice(2)}`) : target,
      ]),
    ),
    lock: { path: `${shape.dir}/deno.lock`, frozen: true },
  };
  const config = { nodeModulesDir: "none", ...source, permissions: sets };
  return `${JSON.stringify(config, null, 2)}\n`;
}

function fileUrl(path: string): string {
  return `file://${path.split("/").map(encodeURIComponent).join("/")}`;
}

/** Returns the hosts of the model endpoint, and of MCPs that the runtime reaches by URL. */
function modelHosts(agent: AgentRecord, context: AgentContext): readonly string[] {
  const dial = context.facts.roles.dial;
  const settings = dial?.settings?.get(agent.name) ?? {};
  const value = (name: string) => settings[name] ?? context.secrets.get(name);
  const baseUrl = value("FLEETCTL_BASE_URL");
  const keyed = Object.keys(PROVIDER_HOSTS)
    .filter((name) => value(`${name.toUpperCase()}_API_KEY`) !== undefined);
  const providers = agent.provider === undefined ? keyed : [agent.provider];
  const endpoint = baseUrl === undefined
    ? providers.map((name) => PROVIDER_HOSTS[name])
    : [hostPort(baseUrl)];
  const hosts = [
    ...endpoint,
    ...mcpHosts(context.manifests),
    ...dial?.modelHosts?.get(agent.name) ?? [],
  ];
  return [...new Set([DEMO_HOST, ...hosts.filter((host) => host !== undefined)])];
}

/** Returns the hosts of the MCPs that are reached by URL; a host never contains a key. */
function mcpHosts(manifests: readonly Manifest[]): readonly string[] {
  const hosts = manifests.map(({ source }) =>
    source.kind === "http" ? hostPort(source.url.replace(/\{[A-Z0-9_]+\}/g, "x")) : undefined
  );
  return [...new Set(hosts.filter((host) => host !== undefined))];
}

function hostPort(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port === "" ? /^(wss|https):$/.test(protocol) ? 443 : 80 : port}`;
}
