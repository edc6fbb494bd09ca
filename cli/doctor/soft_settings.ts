/**
 * Settings in force on a host that could be stricter, each with its effect and a command that
 * changes it or shows what it affects. Pure. None of them is a fault, because an operator may have
 * good reasons for it. `doctor` lists them so that they are not overlooked.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import type { HostRoles } from "core/ledger/host_roles.ts";
import type { HostMarkers } from "core/ledger/markers.ts";
import { parseBasicUsers } from "core/login/basic_users.ts";
import type { HostName } from "core/names.ts";
import { startsPrograms } from "units/render/mcp/command.ts";

/** One setting that could be stricter. */
export interface SoftSetting {
  /** The setting, spelled as in its file. */
  readonly setting: string;
  readonly value: string;
  readonly means: string;
  readonly run: readonly string[];
}

/** Inputs of `softSettings`. */
export interface SoftInputs {
  readonly roles: HostRoles;
  readonly markers: HostMarkers;
  /** Agents of the whole fleet. */
  readonly agents: readonly AgentRecord[];
  /** MCPs that an agent of this host has. */
  readonly wired: readonly Manifest[];
  /** Name of this host. */
  readonly hostname: HostName;
  /** Number of fleet hosts in the ledger, including this one. */
  readonly hosts: number;
  /**
   * Two secrets of the shared shard that make the host less strict when they are set: passwords of
   * the basic login, and the shared registration token.
   */
  readonly basicUsers: string | undefined;
  readonly teamsRegisterToken: string | undefined;
}

/** Returns the soft settings by area: gateway, login, agents, MCP servers. */
export function softSettings(inputs: SoftInputs): readonly SoftSetting[] {
  return [
    ...gatewaySettings(inputs),
    ...loginSettings(inputs),
    ...agentSettings(inputs),
    ...serverSettings(inputs.wired),
  ];
}

function gatewaySettings({ roles, markers, agents }: SoftInputs): readonly SoftSetting[] {
  const { gateway } = roles;
  if (gateway === undefined) return [];
  const keyless = agents.filter((agent) =>
    agent.userEmail !== undefined && agent.dialKeys === undefined
  );
  const isReachable = !/^(127\.|\[::1\]|localhost)/.test(gateway.dialListen);
  return [
    ...(gateway.trust === "header"
      ? [{
        setting: "WEBVIEW_TRUST",
        value: "header",
        means: "any local process can act as any user of the cockpit: safe only if your own " +
          "proxy signs users in and nothing else can reach the cockpit",
        run: ["fleetctl webview-gateway install --trust assertion"],
      }]
      : []),
    ...(markers.isDialKeyRequired ? [] : [{
      setting: "host.dial_require_key",
      value: "false",
      means: keyless.length === 0
        ? "an agent without a recorded key is admitted by its name and its owner's address alone"
        : `admitted by name and owner's address alone until their first key is recorded: ${
          names(keyless.map(({ name }) => name))
        }`,
      run: ["fleetctl agents key list", "fleetctl host set dial_require_key true"],
    }]),
    ...(isReachable
      ? [{
        setting: "gateway.dial_listen",
        value: gateway.dialListen,
        means: "agents connect without TLS, so the traffic can be read on the network: " +
          "use a private network or a TLS front",
        run: [`ss -ltn 'sport = :${gateway.dialListen.split(":").at(-1)}'`],
      }]
      : []),
  ];
}

function loginSettings(
  { roles, basicUsers, teamsRegisterToken }: SoftInputs,
): readonly SoftSetting[] {
  const { login } = roles;
  const users = login?.driver === "basic" ? parseBasicUsers(basicUsers ?? "") : undefined;
  const plain = users?.ok === true
    ? users.value.filter(({ credential }) => credential.kind === "plain").map(({ name }) => name)
    : [];
  return [
    ...(plain.length === 0 ? [] : [{
      setting: "WEBVIEW_BASIC_USERS",
      value: `${plain.length} in plain text`,
      means: `anyone who can read the store or the env file sees the passwords of ` +
        names(plain),
      run: plain.map((name) => `fleetctl webview-login users set ${name}`),
    }]),
    ...(teamsRegisterToken === undefined || teamsRegisterToken === "" ? [] : [{
      setting: "TEAMS_REGISTER_TOKEN",
      value: "set",
      means: "anyone with this shared token can register as any team-chat agent",
      run: ["fleetctl agents key list"],
    }]),
  ];
}

function agentSettings({ agents, hosts, hostname }: SoftInputs): readonly SoftSetting[] {
  const admins = agents.filter(({ isAdmin }) => isAdmin).map(({ name }) => name);
  const unpinned = agents.filter(({ runOn }) => runOn === undefined).map(({ name }) => name);
  return [
    ...(admins.length === 0 ? [] : [{
      setting: "admin",
      value: "true",
      means: `equivalent to root on their hosts: ${names(admins)}`,
      run: ["fleetctl agents list"],
    }]),
    ...(hosts < 2 || unpinned.length === 0 ? [] : [{
      setting: "run_on",
      value: "empty",
      means: `run on all ${hosts} hosts at once: ${names(unpinned)}`,
      run: unpinned.map((name) => `fleetctl agents set ${name} --run-on ${hostname}`),
    }]),
  ];
}

function serverSettings(wired: readonly Manifest[]): readonly SoftSetting[] {
  const asRoot = wired.filter(({ sharing, runAs }) => sharing === "shared" && runAs === "root");
  const open = wired.filter(({ permissions }) => permissions.net.includes("*"));
  const starting = wired.filter((manifest) =>
    manifest.source.kind === "npm" && startsPrograms(manifest)
  );
  const row = (list: readonly Manifest[], setting: string, value: string, means: string) =>
    list.length === 0 ? [] : [{
      setting,
      value,
      means: `${means}: ${names(list.map(({ name }) => name))}`,
      run: list.map(({ name }) => `fleetctl mcp catalog browse ${name}`).slice(0, 1),
    }];
  return [
    ...row(asRoot, "run_as", "root", "a shared server that runs as root, without its sandbox"),
    ...row(open, "permissions.net", "*", "reaches every host of the network"),
    ...row(
      starting,
      "permissions.run",
      "not empty",
      "starts programs, which only the hardening of its unit confines",
    ),
  ];
}

/** Joins names for a sentence: at most eight, then the number of the others. */
function names(list: readonly string[]): string {
  const shown = list.slice(0, 8).map((name) => `"${name}"`).join(", ");
  return list.length > 8 ? `${shown} and ${list.length - 8} more` : shown;
}
