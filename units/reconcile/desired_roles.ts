/**
 * The part of what is desired that belongs to the host itself: folders, launchers, the permission
 * sets of its roles, daemon, gateway and login proxy with their env files. Pure.
 *
 * @module
 */

import type { Refusal } from "core/errors.ts";
import type { FileOwner } from "core/rendered_file.ts";
import { type RenderedFile, ROOT_OWNER } from "core/rendered_file.ts";
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
  ledgerSetting,
  renderEmptySharedEnv,
  renderGatewayEnv,
} from "units/render/roles/role_env.ts";

/** Works out the host's own part. */
export function desiredRoles(facts: Facts): DesiredPart {
  const faults: Refusal[] = [];
  const files: TaggedFile[] = [];
  const units: DesiredUnit[] = [];
  const heldPaths = new Set(facts.held?.paths);
  // Whoever built the facts has said why, if it was there that a key could not be read.
  const hold = (fault: Refusal, path: string) => {
    if (!heldPaths.has(path)) faults.push(fault);
    heldPaths.add(path);
  };
  const launchers = renderLaunchers(facts.shape, facts.paths);
  const sets = hostPermissions(facts);
  if (!sets.ok) faults.push(sets.error);
  else files.push({ file: renderHostPermissions(facts, sets.value) });
  // On a host of its own the programs and what belongs to them are the package's, and /usr read-only.
  if (facts.paths.root !== "/") {
    files.push(...launchers.map((file) => ({ file })));
    if (sets.ok) files.push({ file: renderProgramPermissions(facts, sets.value) });
  }
  if (!facts.env.some((file) => file.path === facts.paths.sharedEnv)) {
    files.push({ file: renderEmptySharedEnv(facts.paths) });
  }
  // Agents' env files get the channel besides their keys (desired_agents); the rest is as it is.
  const merged = new Set(facts.agents.map((agent) => facts.paths.agentEnv(agent.name)));
  files.push(
    ...facts.env.filter((file) => !merged.has(file.path)).map((file) => ({ file })),
  );
  const inputsOf = (program: string, set: string) => [
    launchers.find((file) => file.path === facts.paths.program(program))?.content ?? "",
    JSON.stringify(sets.ok ? sets.value[set] : undefined),
  ];
  if (facts.roles.daemon !== undefined) {
    const unit = renderDaemon(facts.paths);
    const file = unitFile(unit, facts.paths);
    files.push({ file });
    units.push({
      name: unit.name,
      kind: "daemon",
      socket: { path: facts.paths.daemonSocket, mode: 0o666 },
      inputs: [file.content, ...inputsOf("fleetctld", "daemon")],
      softInputs: [],
      programs: ["fleetctld"],
      links: [],
      wantedBy: wantedBy(unit),
    });
  }
  const gateway = facts.roles.gateway;
  if (gateway !== undefined) {
    const env = renderGatewayEnv(gateway, facts.paths);
    if (!env.ok) hold(env.error, facts.paths.env(GATEWAY_ENV));
    const unit = renderGateway(facts.paths);
    const file = unitFile(unit, facts.paths);
    files.push({ file }, { file: renderDialKeys(gateway.dialKeys, facts.paths) });
    if (env.ok) {
      const maps = ledgerSetting(gateway, facts.paths).files;
      files.push({ file: env.value }, ...maps.map((map) => ({ file: map })));
      units.push({
        name: unit.name,
        kind: "gateway",
        inputs: [
          ...[file.content, env.value.content, ...maps.map(({ content }) => content)],
          ...inputsOf("fleetctl-gateway", "gateway"),
        ],
        softInputs: [],
        programs: ["fleetctl-gateway"],
        links: [],
        wantedBy: wantedBy(unit),
      });
    }
  }
  const { login, host } = facts.roles;
  if (host !== undefined) {
    const { paths, hostname } = facts;
    const unit = renderHostDial({ paths, hostname, registerUrl: host.registerUrl });
    const file = unitFile(unit, paths);
    files.push({ file });
    units.push({
      name: unit.name,
      kind: "host",
      inputs: [file.content, host.publicKey ?? "", ...inputsOf("fleetctl-dial", "host-dial")],
      softInputs: [],
      programs: ["fleetctl-dial"],
      links: [],
      wantedBy: wantedBy(unit),
    });
  }
  if (login !== undefined) {
    const env = renderLoginEnv(login, { paths: facts.paths, cockpit: gateway?.cockpitListen });
    if (!env.ok) hold(env.error, facts.paths.env(LOGIN_ENV));
    const unit = renderLogin(facts.paths);
    const file = unitFile(unit, facts.paths);
    files.push({ file });
    // A key that could not be read is no key that is not wanted.
    if (env.ok && !heldPaths.has(facts.paths.env(LOGIN_ENV))) {
      files.push({ file: env.value });
      units.push({
        name: unit.name,
        kind: "login",
        inputs: [file.content, env.value.content, ...inputsOf("fleetctl-login", "login")],
        softInputs: [],
        programs: ["fleetctl-login"],
        links: [],
        wantedBy: wantedBy(unit),
      });
    }
  }
  const teamchat = desiredTeamchat(facts, inputsOf);
  files.push(...teamchat.files);
  units.push(...teamchat.units);
  faults.push(...teamchat.faults);
  return {
    files,
    folders: [...hostFolders(facts), ...teamchat.folders],
    clients: [],
    units,
    faults,
    faultTags: new Map(),
    heldPaths: [...heldPaths],
  };
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

/** Returns one secret env file, as the secret store rendered it. */
export function secretEnv(facts: Facts, path: string): RenderedFile | undefined {
  const known = envByPath.get(facts.env);
  if (known !== undefined) return known.get(path);
  const made = new Map(facts.env.map((file) => [file.path, file]));
  envByPath.set(facts.env, made);
  return made.get(path);
}
