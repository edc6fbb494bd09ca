/**
 * All facts that determine the desired state of a host, as one value. The callers (`up`, `apply`,
 * `mcp add`, …) build it from the ledger, the catalog and the settings. The renderers and the
 * plan see nothing else. Types and total functions only, no I/O.
 *
 * @module
 */

import type { HostLimits } from "core/limits/agent.ts";
import type { CloudHosts } from "core/teamchat/cloud.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import { refusal } from "core/errors.ts";
import type { AgentName, HostName, McpName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import type { RenderedFile } from "core/files/rendered_file.ts";
import { err, ok, type Result } from "core/result.ts";
import type { RuntimeDefinition } from "core/runtimes/definition.ts";
import { DEFAULT_WORKSPACE, workspaceFolder, workspacePlaceRule } from "core/workspace.ts";

/** How launchers start a role: from the source tree, or from one bundled file per program. */
export interface Shape {
  readonly kind: "tree" | "bundle";
  /** The tree's folder, or the folder with `<program>.js` files. Absolute. */
  readonly dir: string;
  /** Deno's cache: npm packages for the tree shape, code caches for both. Absolute. */
  readonly denoDir: string;
}

/** The gateway, if this host runs it. */
export interface GatewayRole {
  /** `host:port` with host 127.0.0.1. */
  readonly cockpitListen: string;
  /** `host:port`. */
  readonly dialListen: string;
  /** Content of `webview-ledger.json`: the identities and admins of the whole fleet. */
  readonly rosterJson: string;
  readonly trust: "assertion" | "header";
  /** Key ring for `X-Fleetctl-Assertion`; a secret. Required when `trust` is `assertion`. */
  readonly assertionKey?: string;
  /**
   * Dial keys of the whole fleet, by agent or `host:<hostname>`; absent for those that never had
   * one.
   */
  readonly dialKeys: ReadonlyMap<string, readonly string[]>;
  /** Further settings of the gateway's env file, such as `WEBVIEW_DIAL_REQUIRE_KEY`. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** The login proxy, if this host runs it. */
export interface LoginRole {
  /** `host:port`. */
  readonly listen: string;
  readonly driver: "basic" | "oidc";
  /** Key ring that signs sessions; a secret. */
  readonly hmacKey: string;
  /** Key ring for `X-Fleetctl-Assertion`, the gateway's; a secret. */
  readonly assertionKey?: string;
  /** `WEBVIEW_BASIC_USERS`; a secret. */
  readonly basicUsers?: string;
  /** Further settings of its env file, such as `WEBVIEW_URL`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** `WEBVIEW_OIDC_CLIENT_SECRET`; a secret. */
  readonly clientSecret?: string;
  /** `host:port` entries of the provider's endpoints that are not on its issuer's host. */
  readonly providerHosts?: readonly string[];
}

/** The team-chat gateway, if this host runs it. */
export interface TeamchatRole {
  /** `host:port` of `/api/messages`. */
  readonly listen: string;
  /** `host:port` of `/register`. */
  readonly registerListen: string;
  /** Name of a cloud, or the path of its file. */
  readonly cloud: string;
  readonly cloudFile: string | undefined;
  /** All hosts that the gateway connects to. */
  readonly hosts: CloudHosts;
  /**
   * JSON object that maps an owner's object id to an agent, for the whole fleet (`TEAMS_AGENTS`).
   */
  readonly agentsJson: string;
  /** Further settings, including secrets. */
  readonly settings: Readonly<Record<string, string>>;
  readonly dialKeys: ReadonlyMap<AgentName, readonly string[]>;
}

/** The dial units of the agents on this host. */
export interface DialRole {
  /** `ws://127.0.0.1:8735`, `ws://<gateway-host>:8735` or `wss://…`. */
  readonly registerUrl: string;
  /** `ws://<team-chat gateway>:3978/register`; absent where there is none. */
  readonly teamchatUrl?: string;
  /**
   * `host:port` entries each agent's runtime may reach for its model, beyond the hosts of the
   * known providers; the demo model's loopback address goes here.
   */
  readonly modelHosts?: ReadonlyMap<AgentName, readonly string[]>;
  /** Further non-secret settings of an agent's runtime, such as `FLEETCTL_BASE_URL`. */
  readonly settings?: ReadonlyMap<AgentName, Readonly<Record<string, string>>>;
}

/** The host's own dial unit. */
export interface HostDialRole {
  readonly registerUrl: string;
  /** Public part of its key; undefined before the key is created. */
  readonly publicKey: string | undefined;
}

/** The roles on this host. An absent role does not run here, and its rendered files are removed. */
export interface Roles {
  readonly daemon?: Readonly<Record<never, never>>;
  readonly gateway?: GatewayRole;
  readonly login?: LoginRole;
  readonly teamchat?: TeamchatRole;
  readonly dial?: DialRole;
  readonly host?: HostDialRole;
}

/** The facts of one host. */
export interface Facts {
  readonly paths: Paths;
  readonly hostname: HostName;
  /** Root other than `/`, or not uid 0: owners of files are left unchanged. */
  readonly rootless: boolean;
  /** Agents of this host (`agentsOnHost`), sorted by name. */
  readonly agents: readonly AgentRecord[];
  readonly catalog: ReadonlyMap<McpName, Manifest>;
  /** Resolved MCPs per agent, in order. A name that is not in `catalog` is reported as a fault. */
  readonly wired: ReadonlyMap<AgentName, readonly McpName[]>;
  readonly runtimes: ReadonlyMap<string, RuntimeDefinition>;
  /** Secret env files (`agent-<name>.env`, `mcp-shared.env`), rendered from the secret store. */
  readonly env: readonly RenderedFile[];
  readonly roles: Roles;
  /** Resource limits of agents; absent where no service manager enforces them. */
  readonly limits?: HostLimits;
  readonly shape: Shape;
  /** Workspace of each agent whose record sets none. */
  readonly workspace: string;
  /** Folder that people mean by "this project"; the workspace when absent. */
  readonly project?: string;
  /**
   * Agents and MCPs whose files have no readable version, and agents without an account. Their
   * rendered files stay unchanged. A held agent that is also in `agents` keeps the rules and shared
   * servers of its MCPs.
   */
  readonly held?: {
    readonly agents?: readonly AgentName[];
    readonly mcps?: readonly McpName[];
    /** Files of roles whose keys could not be read. */
    readonly paths?: readonly string[];
  };
}

/** Returns the folder of an agent's workspace; refuses a path that a host does not allow. */
export function workspaceOf(
  agent: Pick<AgentRecord, "name" | "workspace">,
  { paths, workspace }: Pick<Facts, "paths" | "workspace">,
): Result<string> {
  const home = paths.home(agent.name);
  const text = agent.workspace ?? workspace;
  // Under another root all agents are the same user.
  const rule = paths.root === "/" ? workspacePlaceRule(text, home) : undefined;
  if (rule === undefined) return ok(workspaceFolder(text, home));
  return err(refusal(
    "workspace-unusable",
    `Cannot use ${JSON.stringify(text)} as the workspace of agent ${JSON.stringify(agent.name)}: ` +
      `it ${rule}`,
    // Quoted, because a shell would expand it to the home of the person who types it.
    { hints: [`fleetctl agents set ${agent.name} --workspace '${DEFAULT_WORKSPACE}'`] },
  ));
}

/** Returns the agents that run on a host: pinned to it, or not pinned. */
export function agentsOnHost(
  agents: Iterable<AgentRecord>,
  hostname: HostName,
): readonly AgentRecord[] {
  return [...agents]
    .filter((agent) => agent.runOn === undefined || agent.runOn === hostname)
    .sort((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
}
