/**
 * The file `roles.yaml`: which roles run on this host, where they listen, and how their programs
 * are started. Written by `up` and by the `… install` verbs; read by every reconcile, so that each
 * setting is in one place. Contains no secret. Pure. Example:
 *
 * ```yaml
 * gateway: { cockpit_listen: 127.0.0.1:8731, dial_listen: 0.0.0.0:8735, trust: assertion }
 * login: { listen: 127.0.0.1:8736, driver: basic, settings: { WEBVIEW_SESSION_TTL: 7d } }
 * teamchat: { listen: 127.0.0.1:3978, register_listen: 10.0.0.5:3978, cloud: public }
 * daemon: true
 * dial: true
 * shape: { kind: bundle, dir: /usr/lib/fleetctl, deno_dir: /var/cache/fleetctl/deno }
 * workdir: ~/workspace
 * limits: { agents: { memory_max: 12G }, agent: { memory_max: 2G, tasks_max: 2048 } }
 * ```
 *
 * @module
 */

import type { AgentLimits } from "core/limits/agent.ts";
import { defined } from "core/defined.ts";
import { editHint } from "core/hints/edit_hint.ts";
import { EVENT_LIMITS } from "core/limits/event.ts";
import { fileOrigin } from "core/net/file_url.ts";
import { createFieldReader, type FieldReader } from "core/text/field_reader.ts";
import { refusal } from "core/errors.ts";
import { parseIp } from "core/net/ip.ts";
import { limitFields, readLimits } from "core/ledger/limit_fields.ts";
import { err, ok, type Result } from "core/result.ts";
import { faultCount } from "core/text/fault_count.ts";
import { DEFAULT_WORKSPACE, workspaceRule } from "core/workspace.ts";
import { editYaml, parseYaml, printYaml, type YamlPath } from "core/text/yaml.ts";

/** Contents of `roles.yaml`. */
export interface HostRoles {
  readonly gateway?: {
    readonly cockpitListen: string;
    readonly dialListen: string;
    readonly trust: "assertion" | "header";
    /** Host names that the cockpit accepts besides loopback ones; absent: the role's default. */
    readonly hosts?: readonly string[];
    /** MiB that are kept of one agent; absent: the gateway's default. */
    readonly agentStorageMib?: number;
    /** Days after which the gateway deletes events; absent: it never does. */
    readonly eventsDays?: number;
  };
  readonly login?: {
    readonly listen: string;
    /** The aliases `entra` and `google` of `oidc` are valid in the role's settings only. */
    readonly driver: "basic" | "oidc";
    /** Further settings of the role by name; no secrets. */
    readonly settings?: Readonly<Record<string, string>>;
    /** `host:port` of provider endpoints that are not at the issuer's host. */
    readonly providerHosts?: readonly string[];
  };
  readonly teamchat?: {
    readonly listen: string;
    /** Where agents register: the private address of this host, or loopback. */
    readonly registerListen: string;
    /** Name of a cloud, or the absolute path of a file that describes one. */
    readonly cloud: string;
    /** Hosts of the tenant's files, separated by commas; absent: files are not fetched. */
    readonly fileHosts?: string;
  };
  readonly isDaemonHere: boolean;
  readonly areDialUnitsHere: boolean;
  /** Whether this host keeps its own connection to the gateway, if there is one. */
  readonly isHostUnitHere: boolean;
  /** How launchers start programs: from the source tree, or from one bundled file each. */
  readonly shape: {
    readonly kind: "tree" | "bundle";
    readonly dir: string;
    readonly denoDir: string;
  };
  /** Workspace of an agent whose record names none. */
  readonly workdir: string;
  /** Folder that `{project}` stands for; the workspace when absent. */
  readonly project?: string;
  /** Resource limits of agents, where they override the defaults from the host's memory. */
  readonly limits?: {
    /** All agents and their MCP servers together. */
    readonly agents?: AgentLimits;
    /** Each agent whose record does not override them. */
    readonly agent?: AgentLimits;
  };
}

/** Roles of a host without `roles.yaml`: the daemon, its agents' dial units and its own. */
export const DEFAULT_ROLES: HostRoles = {
  isDaemonHere: true,
  areDialUnitsHere: true,
  isHostUnitHere: true,
  shape: { kind: "bundle", dir: "/usr/lib/fleetctl", denoDir: "/var/cache/fleetctl/deno" },
  workdir: DEFAULT_WORKSPACE,
};

const HEADER = "# Which roles run on this host; written by fleetctl.\n";
const LISTEN = /^(\[[0-9a-fA-F:]+\]|[0-9A-Za-z.-]+):\d{1,5}$/;

function listenRule(text: string): string | undefined {
  return LISTEN.test(text) ? undefined : "must be host:port";
}

/** Tells whether a text is a host name or an address, without a port. */
export function isHostText(text: string): boolean {
  return text.length <= 253 && (parseIp(text) !== undefined || /^[A-Za-z0-9.-]+$/.test(text));
}

function hostNameRule(text: string): string | undefined {
  return isHostText(text) ? undefined : "must be a host name or an address, without a port";
}

function absoluteRule(text: string): string | undefined {
  return text.startsWith("/") ? undefined : "must be an absolute path";
}

function fileHostsRule(given: string): string | undefined {
  const wrong = given.split(",").find((host) => host !== "" && fileOrigin(host) === undefined);
  return wrong === undefined ? undefined : "must be host names, with commas between them";
}

function cloudRule(text: string): string | undefined {
  return /^[a-z]{1,16}$/.test(text) || text.startsWith("/")
    ? undefined
    : "must be the name of a cloud or an absolute path";
}

/** Parses `roles.yaml`; an absent or empty file gives `DEFAULT_ROLES`. */
export function parseHostRoles(text: string | undefined, file: string): Result<HostRoles> {
  if (text === undefined) return ok(DEFAULT_ROLES);
  const yaml = parseYaml(text, file);
  if (!yaml.ok) return rolesRefusal(file, yaml.error.details);
  if (yaml.value.value === null) return ok(DEFAULT_ROLES);
  const read = createFieldReader(yaml.value);
  read.onlyKeys([], [
    "gateway",
    "login",
    "teamchat",
    "daemon",
    "dial",
    "host",
    "shape",
    "workdir",
    "project",
    "limits",
  ]);
  const top = new Map(read.entries([]));
  const flag = (key: string) => {
    const value = top.get(key) ?? true;
    if (typeof value !== "boolean") read.fault([key], "must be true or false");
    return value === true;
  };
  const isDaemonHere = flag("daemon");
  const areDialUnitsHere = flag("dial");
  const isHostUnitHere = flag("host");
  const gateway = readGateway(read);
  const login = readLogin(read);
  const teamchat = readTeamchat(read);
  read.onlyKeys(["shape"], ["kind", "dir", "deno_dir"]);
  const shape = {
    kind: read.choice(["shape", "kind"], ["tree", "bundle"]) ?? DEFAULT_ROLES.shape.kind,
    dir: read.string(["shape", "dir"], absoluteRule) ?? DEFAULT_ROLES.shape.dir,
    denoDir: read.string(["shape", "deno_dir"], absoluteRule) ?? DEFAULT_ROLES.shape.denoDir,
  };
  // Older versions wrote "/" if no workspace was chosen.
  const named = read.string(["workdir"], (text) => text === "/" ? undefined : workspaceRule(text));
  const workdir = named === undefined || named === "/" ? DEFAULT_ROLES.workdir : named;
  const project = read.string(["project"], absoluteRule);
  const limits = readHostLimits(read);
  if (read.faults.length > 0) return rolesRefusal(file, read.faults);
  return ok({
    isDaemonHere,
    areDialUnitsHere,
    isHostUnitHere,
    shape,
    workdir,
    ...defined({ gateway, login, teamchat, project, limits }),
  });
}

function readGateway(read: FieldReader): HostRoles["gateway"] {
  if (!read.has(["gateway"])) return undefined;
  read.onlyKeys(["gateway"], GATEWAY_KEYS);
  const agentStorageMib = read.integer(["gateway", "agent_storage_mib"], AGENT_STORAGE_RANGE);
  const cockpitListen = read.string(["gateway", "cockpit_listen"], listenRule) ?? "127.0.0.1:8731";
  const dialListen = read.string(["gateway", "dial_listen"], listenRule) ?? "0.0.0.0:8735";
  const trust = read.choice(["gateway", "trust"], ["assertion", "header"]) ?? "assertion";
  const eventsDays = read.integer(["gateway", "events_days"], EVENTS_DAYS_RANGE);
  const names = read.strings(["gateway", "hosts"], hostNameRule);
  const hosts = names.length === 0 ? undefined : names;
  return { cockpitListen, dialListen, trust, ...defined({ hosts, agentStorageMib, eventsDays }) };
}

function readLogin(read: FieldReader): HostRoles["login"] {
  if (!read.has(["login"])) return undefined;
  read.onlyKeys(["login"], ["listen", "driver", "settings", "provider_hosts"]);
  return {
    listen: read.string(["login", "listen"], listenRule) ?? "0.0.0.0:8736",
    driver: read.choice(["login", "driver"], ["basic", "oidc"]) ?? "oidc",
    ...loginExtras(read),
  };
}

function readTeamchat(read: FieldReader): HostRoles["teamchat"] {
  if (!read.has(["teamchat"])) return undefined;
  read.onlyKeys(["teamchat"], ["listen", "register_listen", "cloud", "file_hosts"]);
  const fileHosts = read.string(["teamchat", "file_hosts"], fileHostsRule);
  return {
    listen: read.string(["teamchat", "listen"], listenRule) ?? "127.0.0.1:3978",
    registerListen: read.string(["teamchat", "register_listen"], listenRule) ?? "127.0.0.1:3978",
    cloud: read.string(["teamchat", "cloud"], cloudRule) ?? "public",
    ...(fileHosts === undefined || fileHosts === "" ? {} : { fileHosts }),
  };
}

function readHostLimits(read: FieldReader): HostRoles["limits"] {
  if (!read.has(["limits"])) return undefined;
  read.onlyKeys(["limits"], ["agents", "agent"]);
  const agents = readLimits(read, ["limits", "agents"]);
  const agent = readLimits(read, ["limits", "agent"]);
  return defined({ agents, agent });
}

const GATEWAY_KEYS = [
  "cockpit_listen",
  "dial_listen",
  "trust",
  "hosts",
  "agent_storage_mib",
  "events_days",
];
const EVENTS_DAYS_RANGE = [EVENT_LIMITS.daysMin, EVENT_LIMITS.daysMax] as const;
const AGENT_STORAGE_RANGE = [EVENT_LIMITS.agentMibMin, EVENT_LIMITS.agentMibMax] as const;

/** Settings that `webview-login install` may store here; secrets are in the secret store. */
const LOGIN_SETTING_NAMES: readonly string[] = [
  "WEBVIEW_COOKIE_PREFIX",
  "WEBVIEW_OIDC_CLAIMS",
  "WEBVIEW_OIDC_CLIENT_ID",
  "WEBVIEW_OIDC_ISSUER",
  "WEBVIEW_OIDC_TENANTS",
  "WEBVIEW_SESSION_IDLE",
  "WEBVIEW_SESSION_TTL",
  "WEBVIEW_TRUSTED_PROXIES",
  "WEBVIEW_URL",
];

function loginExtras(
  read: FieldReader,
): Pick<NonNullable<HostRoles["login"]>, "settings" | "providerHosts"> {
  const settings: Record<string, string> = {};
  if (read.has(["login", "settings"])) {
    read.onlyKeys(["login", "settings"], LOGIN_SETTING_NAMES);
    for (const name of LOGIN_SETTING_NAMES) {
      const value = read.string(["login", "settings", name]);
      if (value !== undefined) settings[name] = value;
    }
  }
  const hosts = read.strings(["login", "provider_hosts"], listenRule);
  return {
    ...(Object.keys(settings).length === 0 ? {} : { settings }),
    ...(hosts.length === 0 ? {} : { providerHosts: hosts }),
  };
}

/** Prints `roles.yaml`; the inverse of `parseHostRoles`. */
export function printHostRoles(roles: HostRoles): string {
  return HEADER + printYaml({
    ...(roles.gateway === undefined ? {} : {
      gateway: {
        cockpit_listen: roles.gateway.cockpitListen,
        dial_listen: roles.gateway.dialListen,
        trust: roles.gateway.trust,
        ...defined({
          hosts: roles.gateway.hosts,
          agent_storage_mib: roles.gateway.agentStorageMib,
          events_days: roles.gateway.eventsDays,
        }),
      },
    }),
    ...(roles.login === undefined ? {} : { login: loginFields(roles.login) }),
    ...(roles.teamchat === undefined ? {} : {
      teamchat: {
        listen: roles.teamchat.listen,
        register_listen: roles.teamchat.registerListen,
        cloud: roles.teamchat.cloud,
        ...defined({ file_hosts: roles.teamchat.fileHosts }),
      },
    }),
    daemon: roles.isDaemonHere,
    dial: roles.areDialUnitsHere,
    ...(roles.isHostUnitHere ? {} : { host: false }),
    shape: { kind: roles.shape.kind, dir: roles.shape.dir, deno_dir: roles.shape.denoDir },
    workdir: roles.workdir,
    ...defined({ project: roles.project }),
    ...(roles.limits === undefined ? {} : {
      limits: {
        ...(roles.limits.agents === undefined ? {} : { agents: limitFields(roles.limits.agents) }),
        ...(roles.limits.agent === undefined ? {} : { agent: limitFields(roles.limits.agent) }),
      },
    }),
  });
}

/** A change of `roles.yaml`, by section; absent keys stay unchanged. */
export interface RolesEdit {
  readonly gateway?: {
    readonly cockpit_listen?: string;
    readonly dial_listen?: string;
    readonly trust?: "assertion" | "header";
    readonly hosts?: readonly string[];
  };
  readonly login?: {
    readonly listen?: string;
    readonly driver?: "basic" | "oidc";
    readonly settings?: Readonly<Record<string, string>>;
  };
  readonly teamchat?: {
    readonly listen?: string;
    readonly register_listen?: string;
    readonly cloud?: string;
    readonly file_hosts?: string;
  };
  readonly shape?: {
    readonly kind: HostRoles["shape"]["kind"];
    readonly dir: string;
    readonly deno_dir: string;
  };
  readonly workdir?: string;
  readonly project?: string;
}

/** Edits `roles.yaml`; comments and order are preserved. Refuses a file that cannot be parsed. */
export function editHostRoles(
  text: string | undefined,
  edit: RolesEdit,
  file: string,
): Result<string> {
  const before = parseHostRoles(text, file);
  if (!before.ok) return before;
  const edited = editYaml(text ?? HEADER, (yaml) => {
    const set = (path: YamlPath, value: unknown) => {
      if (value !== undefined && yaml.get(path) !== value) yaml.set(path, value);
    };
    for (const [section, keys] of Object.entries(edit)) {
      if (typeof keys !== "object") {
        set([section], keys);
        continue;
      }
      for (const [key, value] of Object.entries(keys)) {
        if (typeof value === "object" && value !== null && !Array.isArray(value)) {
          for (const [name, text] of Object.entries(value)) yaml.set([section, key, name], text);
        } else set([section, key], value);
      }
    }
  }, file);
  if (!edited.ok) return edited;
  const after = parseHostRoles(edited.value, file);
  return after.ok ? edited : after;
}

/** A role that verbs install and remove, as a section of `roles.yaml`. */
export type RoleSection = "gateway" | "login" | "teamchat";

/** Removes the section of a role from `roles.yaml`; comments outside it and order are preserved. */
export function dropHostRole(
  text: string | undefined,
  section: RoleSection,
  file: string,
): Result<string> {
  const before = parseHostRoles(text, file);
  if (!before.ok) return before;
  return editYaml(text ?? "", (yaml) => yaml.removeSection(section), file);
}

function loginFields({ listen, driver, settings, providerHosts }: NonNullable<HostRoles["login"]>) {
  return {
    listen,
    driver,
    ...defined({ settings, provider_hosts: providerHosts }),
  };
}

function rolesRefusal(file: string, details: readonly string[]): Result<never> {
  return err(
    refusal(
      "roles-file-invalid",
      `Cannot read the roles file "${file}": ${faultCount(details)}`,
      {
        details,
        hints: [editHint(file)],
      },
    ),
  );
}
