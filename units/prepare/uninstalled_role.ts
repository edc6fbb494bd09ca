/**
 * Permissions of a role that runs from its environment alone, without an install. It may reach what
 * its settings name, or their defaults. No I/O.
 *
 * @module
 */

import type { HostRoles } from "core/ledger/host_roles.ts";

/** Settings that decide what the role may reach. `under_root.sh` passes on exactly these. */
const REACH_SETTINGS = [
  "WEBVIEW_COCKPIT_LISTEN",
  "WEBVIEW_DIAL_LISTEN",
  "WEBVIEW_LOGIN_LISTEN",
  "WEBVIEW_OIDC_ISSUER",
  "WEBVIEW_UPSTREAM",
  "TEAMS_CLOUD",
  "TEAMS_FILE_HOSTS",
  "TEAMS_LISTEN",
  "TEAMS_REGISTER_LISTEN",
] as const;

/** A value of the environment; undefined or empty when it is not set. */
export type ReadSetting = (name: typeof REACH_SETTINGS[number]) => string | undefined;

/**
 * Returns the roles with `program` added. Returns them unchanged if it is installed or is not such
 * a role.
 */
export function withUninstalled(
  roles: HostRoles,
  program: string | undefined,
  { read, privateAddress }: {
    readonly read: ReadSetting;
    /** Default address where agents register at the team-chat gateway. */
    readonly privateAddress: string | undefined;
  },
): HostRoles {
  const given = (name: typeof REACH_SETTINGS[number], fallback: string) => read(name) || fallback;
  if (program === "fleetctl-gateway" && roles.gateway === undefined) {
    const cockpit = given("WEBVIEW_COCKPIT_LISTEN", "127.0.0.1:8731");
    return {
      ...roles,
      gateway: {
        // The role rewrites the host part in the same manner.
        cockpitListen: `127.0.0.1:${cockpit.slice(cockpit.lastIndexOf(":") + 1)}`,
        dialListen: given("WEBVIEW_DIAL_LISTEN", "0.0.0.0:8735"),
        trust: "header",
      },
    };
  }
  if (program === "fleetctl-login" && roles.login === undefined) {
    const issuer = read("WEBVIEW_OIDC_ISSUER");
    return {
      ...roles,
      login: {
        listen: given("WEBVIEW_LOGIN_LISTEN", "0.0.0.0:8736"),
        driver: "oidc",
        ...(issuer ? { settings: { WEBVIEW_OIDC_ISSUER: issuer } } : {}),
      },
    };
  }
  if (program === "fleetctl-teamchat" && roles.teamchat === undefined) {
    const listen = given("TEAMS_LISTEN", "127.0.0.1:3978");
    const fileHosts = read("TEAMS_FILE_HOSTS");
    return {
      ...roles,
      teamchat: {
        listen,
        registerListen: given(
          "TEAMS_REGISTER_LISTEN",
          printListen(privateAddress ?? "127.0.0.1", listen.slice(listen.lastIndexOf(":") + 1)),
        ),
        cloud: given("TEAMS_CLOUD", "public"),
        ...(fileHosts ? { fileHosts } : {}),
      },
    };
  }
  return roles;
}

function printListen(address: string, port: string): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

/** `host:port` of `WEBVIEW_UPSTREAM`; undefined when it is not set or not a URL. */
export function upstreamHost(text: string | undefined): string | undefined {
  const url = URL.parse(text ?? "");
  return url === null ? undefined : `${url.hostname}:${url.port || "80"}`;
}
