/**
 * Owners and modes of fleetctl's own state, as docs/storage.md defines them. A backup restored by
 * another user, or a manual change, can leave files that a role cannot open, or that others can
 * read or change. `status` reports them. `apply` repairs them before anything else reads, renders
 * or starts. Only when fleetctl runs as root under `/`: elsewhere everything belongs to one user.
 *
 * Folders come before their content. Only folders of root are listed, because a name that a role or
 * an agent may change meanwhile must never be followed.
 *
 * @module
 */

import type { FileStat } from "core/files/file_stat.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import type { Processes } from "core/ports/processes.ts";
import type { Users } from "core/ports/users.ts";
import { ServiceFault } from "units/manager/service_manager.ts";
import type { FileOwner, OwnerIds } from "core/files/rendered_file.ts";
import { GATEWAY_USER } from "core/verbs/caller.ts";
import { AGENTS_GROUP } from "units/render/mcp/socket.ts";
import { LOGIN_ENV, LOGIN_USER } from "units/render/roles/login_env.ts";
import { GATEWAY_ENV } from "units/render/roles/role_env.ts";
import {
  RECEIVER_ENV,
  RECEIVER_USER,
  TEAMCHAT_ENV,
  TEAMCHAT_USER,
} from "units/render/roles/teamchat_env.ts";

/** Dependencies of the check. */
export interface OwnStatePorts {
  readonly files: Files;
  readonly users: Users;
  readonly processes: Pick<Processes, "run">;
}

/** A path of fleetctl, with its owner and its widest allowed mode. */
export interface OwnPath {
  readonly path: string;
  readonly owner: FileOwner;
  /** Only these bits may be set. */
  readonly modeMax: number;
  /** Reading the file reveals a secret. */
  readonly isSecret?: boolean;
  /** The direct entries of the folder have the same owner. */
  readonly isTree?: boolean;
}

/** A path with a wrong owner or mode. */
export interface WrongPath {
  readonly own: OwnPath;
  readonly stat: FileStat;
  readonly ids: OwnerIds;
  /** Set when an entry of the folder is wrong; the folder itself may be right. */
  readonly entry?: { readonly path: string; readonly stat: FileStat };
}

const ROOT: FileOwner = { user: "root", group: "root" };
const GROUP_BITS = 3;
const CHOWN_MS_MAX = 60_000;

/**
 * Returns paths with a wrong owner or mode, folders first; empty where owners are left unchanged.
 */
export async function wrongPaths(
  { files, users }: OwnStatePorts,
  paths: Paths,
): Promise<readonly WrongPath[]> {
  if (paths.root !== "/" || users.currentUid() !== 0) return [];
  const uidOf = cachedByName(async (name) => (await users.byName(name))?.uid);
  const gidOf = cachedByName((name) => users.groupId(name));
  const idsOf = async ({ user, group }: FileOwner): Promise<OwnerIds | undefined> => {
    const uid = await uidOf(user);
    const gid = await gidOf(group);
    return uid === undefined || gid === undefined ? undefined : { uid, gid };
  };
  const found: WrongPath[] = [];
  for (const own of await ownPaths(files, paths)) {
    const stat = await files.stat(own.path);
    // The target of an operator's link belongs to the operator.
    if (stat === undefined || stat.kind === "symlink") continue;
    const ids = await idsOf(own.owner);
    // The code that needs a missing account reports it.
    if (ids === undefined) continue;
    if (isWrong(stat, ids, own.modeMax)) found.push({ own, stat, ids });
    else if (own.isTree === true && stat.kind === "directory") {
      const entry = await otherUsersEntry(files, own.path, ids);
      if (entry !== undefined) found.push({ own, stat, ids, entry });
    }
  }
  return found;
}

/** Sets owner and mode of all wrong paths; returns a description of each fault. */
export async function repairPaths(
  ports: OwnStatePorts,
  paths: Paths,
): Promise<readonly Refusal[]> {
  const wrong = await wrongPaths(ports, paths);
  const found = await describeState(ports, wrong);
  for (const { own, stat, ids } of wrong) {
    await ports.files.setMeta(own.path, { mode: stat.mode & own.modeMax, ...ids });
    if (own.isTree !== true || stat.kind !== "directory") continue;
    // In a folder that a role may write to, names cannot be trusted: `chown -h -P` follows no link.
    const done = await ports.processes.run({
      command: "/bin/chown",
      args: ["-R", "-h", "-P", `${ids.uid}:${ids.gid}`, "--", own.path],
      env: { LC_ALL: "C" },
      timeoutMs: CHOWN_MS_MAX,
    });
    if (done.code !== 0) {
      throw new ServiceFault("chown", `Cannot set owners in ${own.path}: ${done.stderr.trim()}`);
    }
  }
  return found;
}

/** Describes the faults for people. */
export async function describeState(
  { files, users }: OwnStatePorts,
  wrong: readonly WrongPath[],
): Promise<readonly Refusal[]> {
  if (wrong.length === 0) return [];
  const groups = await files.readText("/etc/group") ?? "";
  const nameOf = async ({ uid, gid }: OwnerIds) => {
    const user = (await users.byUid(uid))?.name ?? String(uid);
    return `${user}:${groupName(groups, gid)}`;
  };
  return await Promise.all(wrong.map(async ({ own, stat, entry, ids }) => {
    const { path, stat: seen } = entry ?? { path: own.path, stat };
    const is = `${await nameOf(seen)} ${octal(seen.mode)}`;
    const must = `${own.owner.user}:${own.owner.group}` +
      (entry === undefined ? ` ${octal(own.modeMax)} at most` : "");
    const isExposed = own.isSecret === true && isReadableByOthers(seen, ids);
    return refusal(
      isExposed ? "state-exposed" : "state-owner-wrong",
      `${JSON.stringify(path)} is ${is}, must be ${must}`,
      {
        details: isExposed
          ? ["Users other than its owner could read the secrets in it. Replace the important ones."]
          : [],
        hints: ["fleetctl apply"],
      },
    );
  }));
}

/** Whether a file has another owner, or grants more access than it may. */
export function isWrong(
  stat: Pick<FileStat, "mode" | "uid" | "gid">,
  ids: OwnerIds,
  modeMax: number,
): boolean {
  if (stat.uid !== ids.uid || (stat.mode & ~modeMax & 0o777) !== 0) return true;
  return stat.gid !== ids.gid && groupMatters(stat.mode);
}

/** Whether the group has a permission that others lack. */
function groupMatters(mode: number): boolean {
  return ((mode >> GROUP_BITS) & 0o7 & ~mode) !== 0;
}

function isReadableByOthers(stat: FileStat, ids: OwnerIds): boolean {
  return stat.uid !== ids.uid || (stat.mode & 0o004) !== 0 ||
    ((stat.mode & 0o040) !== 0 && stat.gid !== ids.gid);
}

async function otherUsersEntry(files: Files, folder: string, ids: OwnerIds) {
  for (const name of await files.list(folder)) {
    const path = `${folder}/${name}`;
    const stat = await files.stat(path);
    if (stat !== undefined && stat.uid !== ids.uid) return { path, stat };
  }
  return undefined;
}

/** Caches lookups by name: root owns nearly every path, so its account is looked up once. */
function cachedByName<T>(lookUp: (name: string) => Promise<T>): (name: string) => Promise<T> {
  const known = new Map<string, Promise<T>>();
  return (name) => {
    const result = known.get(name) ?? lookUp(name);
    known.set(name, result);
    return result;
  };
}

/** Returns every path of fleetctl with a fixed location, folders first. */
async function ownPaths(files: Files, paths: Paths): Promise<readonly OwnPath[]> {
  const inside = async (folder: string, of: (path: string, name: string) => OwnPath | undefined) =>
    (await files.list(folder)).flatMap((name) => of(`${folder}/${name}`, name) ?? []);
  const rootFile = (path: string): OwnPath => ({ path, owner: ROOT, modeMax: 0o644 });
  const rootSecret = (path: string): OwnPath => ({
    path,
    owner: ROOT,
    modeMax: 0o600,
    isSecret: true,
  });
  return [
    ...folders(paths),
    ...[paths.hostKey, paths.hostOpKeys, paths.hostDialKey, paths.loginAccount].map(rootSecret),
    ...[paths.rolesFile, paths.hostFile, paths.defaultsFile, paths.teamsCloudFile, paths.dialKeys]
      .map(rootFile),
    ...[paths.pricesFile, paths.ceilingsFile, paths.hostCeilings].map(rootFile),
    rootSecret(paths.hostSpending),
    ...await inside(paths.envDir, (path, name) => envFile(path, name)),
    ...await inside(paths.gates, rootFile),
    ...await inside(paths.agentCeilings, (path, agent) => ({
      path,
      owner: { user: "root", group: agent },
      modeMax: 0o640,
    })),
    ...await inside(paths.permissionsDir, rootFile),
    ...await inside(paths.runtimesDir, rootFile),
    rootSecret(paths.secretsFile),
    rootFile(paths.recipientsFile),
    ...await inside(paths.agentsDir, (path) => ({ path, owner: ROOT, modeMax: 0o600 })),
    ...await inside(paths.hostsDir, rootFile),
  ];
}

function folders(paths: Paths): readonly OwnPath[] {
  const root = (path: string, modeMax = 0o755, isTree = false): OwnPath => ({
    path,
    owner: ROOT,
    modeMax,
    isTree,
  });
  const ofRole = (role: string, user: string, modeMax = 0o700): OwnPath => ({
    path: paths.role(role),
    owner: { user, group: user },
    modeMax,
    isTree: true,
  });
  return [
    root(paths.etc),
    root(paths.envDir),
    root(paths.gates),
    root(paths.agentCeilings),
    root(paths.runtimesDir),
    root(paths.state),
    root(paths.permissionsDir),
    root(paths.repo),
    root(`${paths.repo}/.git`, 0o700, true),
    root(paths.agentsDir, 0o700),
    root(paths.hostsDir),
    root(paths.overlayCatalog, 0o755, true),
    root(paths.deployDir, 0o755, true),
    root(paths.locks, 0o700, true),
    root(paths.role("daemon"), 0o700, true),
    root(paths.archiveDir, 0o700, true),
    ofRole("gateway", GATEWAY_USER),
    ofRole("login", LOGIN_USER),
    ofRole("teamchat", TEAMCHAT_USER),
    ofRole("teamchat-receiver", RECEIVER_USER, 0o710),
  ];
}

const ROLE_ENVS: Readonly<Record<string, string>> = {
  [GATEWAY_ENV]: GATEWAY_USER,
  [LOGIN_ENV]: LOGIN_USER,
  [TEAMCHAT_ENV]: TEAMCHAT_USER,
  [RECEIVER_ENV]: RECEIVER_USER,
  "mcp-shared": AGENTS_GROUP,
};

/** The service manager reads env files as root; their group is that of the unit's user. */
function envFile(path: string, name: string): OwnPath | undefined {
  const [, stem = ""] = /^([^.].*)\.env$/.exec(name) ?? [];
  if (stem === "") return undefined;
  const agent = /^agent-(.+)$/.exec(stem)?.[1];
  const group = agent ?? ROLE_ENVS[stem];
  return group === undefined
    ? { path, owner: ROOT, modeMax: 0o600, isSecret: true }
    : { path, owner: { user: "root", group }, modeMax: 0o640, isSecret: true };
}

function groupName(groups: string, gid: number): string {
  const line = groups.split("\n").find((one) => one.split(":")[2] === String(gid));
  return line?.split(":")[0] ?? String(gid);
}

function octal(mode: number): string {
  return `0${mode.toString(8)}`;
}
