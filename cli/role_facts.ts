/**
 * The roles of this host as a reconcile needs them: settings and keys from the ledger, the roles
 * file, the markers and the secret store. No I/O.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { hostSession } from "core/dial/host_job.ts";
import type { Refusal } from "core/errors.ts";
import type { HostRoles } from "core/ledger/host_roles.ts";
import type { HostLedger } from "core/ledger/hosts.ts";
import type { Ledger } from "core/ledger/ledger.ts";
import { renderWebviewRoster } from "core/ledger/maps.ts";
import type { HostMarkers } from "core/ledger/markers.ts";
import type { HostName, KeyName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { requireRoleKey } from "core/secrets/render.ts";
import type { SecretStore } from "core/secrets/store.ts";
import type { GatewayRole, LoginRole, Roles, TeamchatRole } from "units/reconcile/facts.ts";
import { LOGIN_ENV } from "units/render/roles/login_env.ts";
import { GATEWAY_ENV } from "units/render/roles/role_env.ts";

/** The inputs of the roles. */
export interface RoleSources {
  readonly ledger: Ledger;
  readonly secrets: SecretStore;
  readonly roles: HostRoles;
  readonly markers: HostMarkers;
  readonly hosts: HostLedger;
  readonly hostDialKey: string | undefined;
  readonly teamchat?: TeamchatRole | undefined;
}

interface RoleInputs {
  readonly paths: Paths;
  readonly hostname: HostName;
}

/** The roles of this host. */
export interface FoundRoles {
  readonly roles: Roles;
  readonly faults: readonly Refusal[];
  /** Env files whose keys could not be read. They keep their old content and block nothing else. */
  readonly heldPaths: readonly string[];
}

/** Builds the roles. A key that cannot be read holds back only the file that needs it. */
export function rolesOf(
  from: RoleSources,
  inputs: RoleInputs,
  { dialUrl, teamsUrl }: { readonly dialUrl: string; readonly teamsUrl: string | undefined },
): FoundRoles {
  const { roles } = from;
  const faults: Refusal[] = [];
  const heldPaths: string[] = [];
  const readKey = (key: string, file: string): string => {
    const value = requireRoleKey(from.secrets.shards, key, { file, hostname: inputs.hostname });
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
      ...(roles.gateway === undefined ? {} : { gateway: gatewayRole(from, inputs, readKey) }),
      ...(roles.login === undefined ? {} : { login: loginRole(from, inputs, readKey) }),
      ...defined({ teamchat: from.teamchat }),
      ...(roles.areDialUnitsHere
        ? {
          dial: {
            registerUrl: dialUrl,
            ...defined({ teamchatUrl: teamsUrl }),
          },
        }
        : {}),
      ...hostUnit(from, inputs, dialUrl),
    },
  };
}

/** Returns the host's own unit if a gateway exists: on this host, or where the marker names one. */
function hostUnit(
  { roles, markers, hostDialKey }: RoleSources,
  { paths, hostname }: RoleInputs,
  dialUrl: string,
): Pick<Roles, "host"> {
  const hasGateway = roles.gateway !== undefined ||
    (markers.webviewGateway !== undefined && markers.webviewGateway.host !== hostname);
  if (paths.root !== "/" || !roles.isHostUnitHere || !hasGateway) return {};
  return { host: { registerUrl: dialUrl, publicKey: hostDialKey } };
}

type ReadKey = (key: string, file: string) => string;

function loginRole(
  { roles, secrets }: RoleSources,
  { paths }: RoleInputs,
  readKey: ReadKey,
): LoginRole {
  const hmacKey = readKey("WEBVIEW_HMAC_KEY", paths.env(LOGIN_ENV));
  // The cockpit of this host accepts only signed assertions, so a login without the key would
  // refuse everyone. With the cockpit on another host the key may be missing.
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
    ...defined({ assertionKey, basicUsers, clientSecret }),
  };
}

function gatewayRole(from: RoleSources, { paths }: RoleInputs, readKey: ReadKey): GatewayRole {
  const { roles, ledger, markers, secrets, hosts } = from;
  const agents = [...ledger.agents.values()];
  const { agentStorageMib: storage, eventsDays: days, hosts: names } = roles.gateway ?? {};
  // With `header` the gateway does not read the assertion of the login proxy, so there may be no
  // key.
  const assertionKey = roles.gateway?.trust === "header"
    ? secrets.get({ key: "WEBVIEW_ASSERTION_KEY" as KeyName })
    : readKey("WEBVIEW_ASSERTION_KEY", paths.env(GATEWAY_ENV));
  return {
    ...roles.gateway!,
    rosterJson: renderWebviewRoster(agents),
    ...defined({ assertionKey }),
    dialKeys: new Map<string, readonly string[]>([
      ...agents.flatMap(({ name, dialKeys }) => keyed(name, dialKeys)),
      ...[...hosts.hosts.values()].flatMap(({ name, dialKeys }) =>
        keyed(hostSession(name), dialKeys)
      ),
    ]),
    settings: {
      ...defined({ WEBVIEW_HOSTS: names?.join(",") }),
      ...(storage === undefined ? {} : { WEBVIEW_AGENT_STORAGE_MIB: String(storage) }),
      ...(days === undefined ? {} : { WEBVIEW_EVENTS_DAYS: String(days) }),
      ...(markers.isDialKeyRequired ? { WEBVIEW_DIAL_REQUIRE_KEY: "true" } : {}),
    },
  };
}

function keyed(name: string, keys: readonly string[] | undefined) {
  return keys === undefined ? [] : [[name, keys] as const];
}
