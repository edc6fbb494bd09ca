/**
 * `fleetctl teams-gateway install [--cloud NAME|FILE] [--listen ADDR] [--register-listen ADDR]
 * [--file-hosts HOSTS]`: makes this host run the team-chat gateway. It writes the role into
 * `roles.yaml` and reconciles, so that `apply` keeps the role.
 *
 * Agents register on the private address that the host's own name resolves to. A host without such
 * an address registers its own agents over loopback.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { ensureState } from "cli/facts.ts";
import type { VerbReport } from "cli/output.ts";
import {
  authorOf,
  hostInputs,
  planReport,
  readFacts,
  reconcileFacts,
  underVerbLock,
} from "cli/planner.ts";
import { checkSpoolEmpty } from "cli/teams_gateway/join.ts";
import { TEAMCHAT_PORT } from "cli/teamchat_role.ts";
import { defined } from "core/defined.ts";
import { refusal } from "core/errors.ts";
import { isPrivate, parseIp } from "core/net/ip.ts";
import { editHostRoles, type HostRoles, parseHostRoles } from "core/ledger/host_roles.ts";
import { isGatewayHost, parseMarkers } from "core/ledger/markers.ts";
import type { HostName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { CLOUD_NAMES, knownCloud, parseCloud } from "core/teamchat/cloud.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl teams-gateway install`. */
export interface Options {
  readonly cloud: string | undefined;
  readonly listen: string | undefined;
  readonly registerListen: string | undefined;
  readonly fileHosts: string | undefined;
  readonly isDryRun: boolean;
}

/** Parses the options. The roles file checks the values. */
export function parseOptions({ options, switches }: Invocation): Result<Options> {
  return ok({
    cloud: options.cloud,
    listen: options.listen,
    registerListen: options["register-listen"],
    fileHosts: options["file-hosts"],
    isDryRun: switches.has("dry-run"),
  });
}

/** Writes the role, then reconciles. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  return await underVerbLock(context, () => install(context, options));
}

async function install(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  const markers = parseMarkers(await ports.files.readText(paths.hostFile), paths.hostFile);
  if (!markers.ok) return markers;
  const marker = markers.value.teamsGateway;
  if (marker !== undefined && !isGatewayHost(marker, ports.hostname)) {
    return err(gatewayElsewhere(marker, ports.hostname));
  }
  const before = await ports.files.readText(paths.rolesFile);
  const current = parseHostRoles(before, paths.rolesFile);
  if (!current.ok) return current;
  const cloud = await cloudOf(context, options.cloud);
  if (!cloud.ok) return cloud;
  const section = await sectionOf(
    context,
    { ...options, cloud: cloud.value?.name },
    current.value.teamchat,
  );
  const edited = editHostRoles(before, { teamchat: section }, paths.rolesFile);
  if (!edited.ok) return edited;
  const roles = parseHostRoles(edited.value, paths.rolesFile);
  if (!roles.ok) return roles;
  if (!options.isDryRun) {
    const author = authorOf(context, "teams-gateway install");
    const state = await ensureState(ports, hostInputs(context), author);
    if (!state.ok) return state;
    if (cloud.value?.text !== undefined) {
      await ports.files.write(paths.teamsCloudFile, cloud.value.text, { mode: 0o644 });
    }
  }
  const waits = await checkSpoolEmpty(context, roles.value.teamchat);
  if (waits !== undefined && !options.isDryRun) return err(waits);
  // Read before the roles file is written: a role that cannot be built is not recorded.
  const gathered = await readFacts(context, { roles: roles.value });
  if (!gathered.ok) return gathered;
  if (!options.isDryRun && edited.value !== before) {
    await ports.files.write(paths.rolesFile, edited.value, { mode: 0o644 });
  }
  const report = await reconcileFacts(context, gathered.value, {
    dryRun: options.isDryRun,
    restartAgents: false,
  });
  if (!report.ok) return report;
  const isCloud = gathered.value.facts.roles.teamchat?.settings.TEAMS_APP_ID !== undefined;
  return ok(planReport(report.value, gathered.value, {
    json: { ...section, state: options.isDryRun ? "planned" : "installed" },
    last: [
      `the team-chat gateway ${options.isDryRun ? "would be" : "is"} installed on host ` +
      `"${ports.hostname}" in ${isCloud ? "cloud" : "local"} mode`,
      ...(isCloud ? [] : [
        "for cloud mode: fleetctl secret set TEAMS_APP_ID, TEAMS_APP_PASSWORD and " +
        "TEAMS_APP_TENANT_ID, then fleetctl apply",
      ]),
      "its agents register after: fleetctl apply",
      "see it with: fleetctl teams-gateway status",
    ],
  }));
}

/**
 * Copies the file of a private cloud to a location that only root can write, because later runs
 * read it.
 */
async function cloudOf(
  { ports, paths, cwd }: VerbContext,
  given: string | undefined,
): Promise<Result<{ readonly name: string; readonly text?: string } | undefined>> {
  if (given === undefined) return ok(undefined);
  if (knownCloud(given) !== undefined) return ok({ name: given });
  const path = given.startsWith("/") ? given : `${cwd}/${given}`;
  const text = await ports.files.readText(path);
  if (text === undefined) {
    return err(refusal(
      "cloud-unknown",
      `Cannot use cloud "${given}": there is no such cloud or file, must be ` +
        `${CLOUD_NAMES.join(", ")} or a file`,
      { kind: "usage" },
    ));
  }
  const parsed = parseCloud(text, given);
  return parsed.ok ? ok({ name: paths.teamsCloudFile, text }) : parsed;
}

async function sectionOf(
  { ports }: VerbContext,
  options: Options,
  current: HostRoles["teamchat"],
): Promise<
  { readonly listen: string; readonly register_listen: string; readonly cloud: string } & {
    readonly file_hosts?: string;
  }
> {
  const fileHosts = options.fileHosts === "none" ? "" : options.fileHosts ?? current?.fileHosts;
  return {
    listen: options.listen ?? current?.listen ?? `127.0.0.1:${TEAMCHAT_PORT}`,
    register_listen: options.registerListen ?? current?.registerListen ??
      `${await privateAddress(ports) ?? "127.0.0.1"}:${TEAMCHAT_PORT}`,
    cloud: options.cloud ?? current?.cloud ?? "public",
    ...defined({ file_hosts: fileHosts }),
  };
}

/** Returns the first private address, except loopback, that the host's own name resolves to. */
async function privateAddress(
  { processes, hostname }: Pick<VerbContext["ports"], "processes" | "hostname">,
): Promise<string | undefined> {
  const getent = await processes.which("getent");
  if (getent === undefined) return undefined;
  const answer = await processes.run({
    command: getent,
    args: ["ahostsv4", hostname],
    env: { PATH: "/usr/bin:/bin", LC_ALL: "C" },
    timeoutMs: RESOLVE_MS_MAX,
  });
  if (answer.code !== 0) return undefined;
  const addresses = answer.stdout.split("\n").map((line) => line.split(/\s/)[0] ?? "");
  return addresses.find((text) => {
    const address = parseIp(text);
    return address !== undefined && address[0] !== 127 && isPrivate(address);
  });
}
const RESOLVE_MS_MAX = 5_000;

function gatewayElsewhere(marker: HostName, hostname: HostName) {
  return refusal(
    "gateway-elsewhere",
    `Cannot install the team-chat gateway on host "${hostname}": the marker teams_gateway names ` +
      `"${marker}", must name this host`,
    { hints: [`fleetctl host set teams_gateway ${hostname}`] },
  );
}
