/**
 * The desired state of the host itself: folders, launchers, the permission sets of its roles, and
 * the daemon, gateway and login proxy with their env files. Pure.
 *
 * @module
 */

import type { Refusal } from "core/errors.ts";
import type { FileOwner } from "core/files/rendered_file.ts";
import { type RenderedFile, ROOT_OWNER } from "core/files/rendered_file.ts";
import { GATEWAY_USER } from "core/verbs/caller.ts";
import type {
  DesiredFolder,
  DesiredPart,
  DesiredUnit,
  TaggedFile,
} from "units/reconcile/desired_part.ts";
import { unitFile, wantedBy } from "units/reconcile/desired_part.ts";
import { desiredTeamchat } from "units/reconcile/desired_teamchat.ts";
import type { Facts } from "units/reconcile/facts.ts";
import { renderLaunchers } from "units/render/launchers.ts";
import {
  hostPermissions,
  renderHostPermissions,
  renderProgramPermissions,
} from "units/render/permission_files.ts";
import { renderDaemon } from "units/render/roles/daemon.ts";
import { renderDialKeys } from "units/render/roles/dial_keys.ts";
import { renderGateway } from "units/render/roles/gateway.ts";
import { renderHostDial } from "units/render/roles/host_dial.ts";
import { renderLogin } from "units/render/roles/login.ts";
import { LOGIN_ENV, LOGIN_USER, renderLoginEnv } from "units/render/roles/login_env.ts";
import {
  GATEWAY_ENV,
  renderEmptySharedEnv,
  renderGatewayEnv,
  rosterFile,
} from "units/render/roles/role_env.ts";

/** Results collected while the roles are computed. */
interface RoleResults {
  readonly files: TaggedFile[];
  readonly units: DesiredUnit[];
  readonly faults: Refusal[];
  readonly heldPaths: Set<string>;
  /** The texts whose change restarts a program's unit: its launcher and its permission set. */
  readonly inputsOf: (program: string, set: string) => readonly string[];
}

/** Computes the host's own part. */
export function desiredRoles(facts: Facts): DesiredPart {
  const launchers = renderLaunchers(facts.shape, facts.paths);
  const sets = hostPermissions(facts);
  const results: RoleResults = {
    files: [],
    units: [],
    faults: [],
    heldPaths: new Set(facts.held?.paths),
    inputsOf: (program, set) => [
      launchers.find((file) => file.path === facts.paths.program(program))?.content ?? "",
      JSON.stringify(sets.ok ? sets.value[set] : undefined),
    ],
  };
  if (!sets.ok) results.faults.push(sets.error);
  else results.files.push({ file: renderHostPermissions(facts, sets.value) });
  // Under `/` the package owns the programs and their files, and /usr is read-only.
  if (facts.paths.root !== "/") {
    results.files.push(...launchers.map((file) => ({ file })));
    if (sets.ok) results.files.push({ file: renderProgramPermissions(facts, sets.value) });
  }
  results.files.push(...envFiles(facts).map((file) => ({ file })));
  addDaemon(facts, results);
  addGateway(facts, results);
  addHostDial(facts, results);
  addLogin(facts, results);
  const teamchat = desiredTeamchat(facts, results.inputsOf);
  return {
    files: [...results.files, ...teamchat.files],
    folders: [...hostFolders(facts), ...teamchat.folders],
    clients: [],
    units: [...results.units, ...teamchat.units],
    faults: [...results.faults, ...teamchat.faults],
    faultTags: new Map(),
    heldPaths: [...results.heldPaths],
  };
}

/** Env files of the host. `desired_agents.ts` adds the channel to those of agents. */
function envFiles({ agents, env, paths }: Facts): readonly RenderedFile[] {
  const merged = new Set(agents.map((agent) => paths.agentEnv(agent.name)));
  const hasShared = env.some((file) => file.path === paths.sharedEnv);
  return [
    ...(hasShared ? [] : [renderEmptySharedEnv(paths)]),
    ...env.filter((file) => !merged.has(file.path)),
  ];
}

/** Keeps a file unchanged, and reports why unless the code that built the facts has done so. */
function hold({ faults, heldPaths }: RoleResults, fault: Refusal, path: string): void {
  if (!heldPaths.has(path)) faults.push(fault);
  heldPaths.add(path);
}

function addDaemon({ roles, paths }: Facts, { files, units, inputsOf }: RoleResults): void {
  if (roles.daemon === undefined) return;
  const unit = renderDaemon(paths);
  const file = unitFile(unit, paths);
  files.push({ file });
  units.push({
    name: unit.name,
    kind: "daemon",
    socket: { path: paths.daemonSocket, mode: 0o666 },
    inputs: [file.content, ...inputsOf("fleetctld", "daemon")],
    softInputs: [],
    programs: ["fleetctld"],
    links: [],
    wantedBy: wantedBy(unit),
  });
}

function addGateway({ roles: { gateway }, paths }: Facts, results: RoleResults): void {
  if (gateway === undefined) return;
  const env = renderGatewayEnv(gateway, paths);
  if (!env.ok) hold(results, env.error, paths.env(GATEWAY_ENV));
  const unit = renderGateway(paths);
  const file = unitFile(unit, paths);
  results.files.push({ file }, { file: renderDialKeys(gateway.dialKeys, paths) });
  if (!env.ok) return;
  results.files.push({ file: env.value }, { file: rosterFile(gateway, paths) });
  results.units.push({
    name: unit.name,
    kind: "gateway",
    inputs: [file.content, env.value.content, ...results.inputsOf("fleetctl-gateway", "gateway")],
    softInputs: [],
    programs: ["fleetctl-gateway"],
    links: [],
    wantedBy: wantedBy(unit),
  });
}

function addHostDial({ roles: { host }, paths, hostname }: Facts, results: RoleResults): void {
  if (host === undefined) return;
  const unit = renderHostDial({ paths, hostname, registerUrl: host.registerUrl });
  const file = unitFile(unit, paths);
  results.files.push({ file });
  results.units.push({
    name: unit.name,
    kind: "host",
    inputs: [file.content, host.publicKey ?? "", ...results.inputsOf("fleetctl-dial", "host-dial")],
    softInputs: [],
    programs: ["fleetctl-dial"],
    links: [],
    wantedBy: wantedBy(unit),
  });
}

function addLogin({ roles: { login, gateway }, paths }: Facts, results: RoleResults): void {
  if (login === undefined) return;
  const env = renderLoginEnv(login, { paths, cockpit: gateway?.cockpitListen });
  if (!env.ok) hold(results, env.error, paths.env(LOGIN_ENV));
  const unit = renderLogin(paths);
  const file = unitFile(unit, paths);
  results.files.push({ file });
  // A key that could not be read must not count as unwanted.
  if (!env.ok || results.heldPaths.has(paths.env(LOGIN_ENV))) return;
  results.files.push({ file: env.value });
  results.units.push({
    name: unit.name,
    kind: "login",
    inputs: [file.content, env.value.content, ...results.inputsOf("fleetctl-login", "login")],
    softInputs: [],
    programs: ["fleetctl-login"],
    links: [],
    wantedBy: wantedBy(unit),
  });
}

function hostFolders(facts: Facts): readonly DesiredFolder[] {
  const { paths } = facts;
  const folder = (path: string, mode: number, owner: FileOwner = ROOT_OWNER) => ({
    path,
    mode,
    owner,
  });
  return [
    ...(paths.root === "/" ? [] : [folder(paths.lib, 0o755)]),
    folder(paths.etc, 0o755),
    folder(paths.envDir, 0o755),
    folder(paths.agentCeilings, 0o755),
    folder(paths.units, 0o755),
    folder(paths.state, 0o755),
    folder(paths.permissionsDir, 0o755),
    folder(paths.run, 0o755),
    folder(paths.logs, 0o750),
    ...(facts.roles.gateway === undefined ? [] : [
      folder(paths.role("gateway"), 0o700, { user: GATEWAY_USER, group: GATEWAY_USER }),
    ]),
    ...(facts.roles.login === undefined ? [] : [
      folder(paths.role("login"), 0o700, { user: LOGIN_USER, group: LOGIN_USER }),
    ]),
  ];
}

const envByPath = new WeakMap<Facts["env"], ReadonlyMap<string, RenderedFile>>();

/** Returns one secret env file, as rendered by the secret store. */
export function secretEnv(facts: Facts, path: string): RenderedFile | undefined {
  const known = envByPath.get(facts.env);
  if (known !== undefined) return known.get(path);
  const made = new Map(facts.env.map((file) => [file.path, file]));
  envByPath.set(facts.env, made);
  return made.get(path);
}
