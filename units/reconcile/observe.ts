/**
 * Observes the current state: files with mode and owner, client configs with their owners' rights,
 * units from the service manager. Reads only. The plan compares it with the desired state.
 *
 * @module
 */

import { errorText, type Refusal, refusal } from "core/errors.ts";
import type { AgentName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import type { ServiceManager } from "units/manager/service_manager.ts";
import type { FileOwner, OwnerIds } from "core/files/rendered_file.ts";
import { sha256, stampOf, statInHome } from "units/reconcile/client_stamp.ts";
import type { Desired } from "units/reconcile/desired.ts";
import type { DesiredUnit } from "units/reconcile/desired_part.ts";
import type { HomeFiles } from "units/reconcile/home_files.ts";
import { observeSockets, type WantedSocket } from "units/reconcile/observe_sockets.ts";
import type { RenderRecord } from "units/reconcile/record.ts";
import type { Origin } from "units/reconcile/replacement.ts";
import type { UnitStatus } from "core/ports/unit.ts";

/** The state of a file or folder. */
export interface ObservedEntry {
  readonly kind: "file" | "directory" | "symlink" | "other";
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Text of a file; "" for everything else. */
  readonly text: string;
}

/** The state of a client config; undefined text means that the file does not exist. */
export interface ObservedClient {
  readonly text: string | undefined;
  readonly mode: number | undefined;
  /**
   * Identifies the file before it was read, and its desired content. If the record has the same
   * stamp, neither has changed, and the file is not read again.
   */
  readonly stamp: string | undefined;
  readonly isSettled: boolean;
}

/** Hashes of a unit's inputs. */
export interface InputHashes {
  readonly inputs: string;
  readonly softInputs: string;
  readonly origin?: Origin;
}

/** Everything that the plan compares. */
export interface Observed {
  /** By path; absent paths do not exist. */
  readonly entries: ReadonlyMap<string, ObservedEntry>;
  readonly clients: ReadonlyMap<string, ObservedClient>;
  readonly homeFolders: ReadonlyMap<string, number>;
  /** Ids by `user:group`; empty when owners are left alone. */
  readonly owners: ReadonlyMap<string, OwnerIds>;
  readonly units: ReadonlyMap<string, UnitStatus>;
  readonly enabled: ReadonlySet<string>;
  readonly isManagerRunning: boolean;
  /** Active units whose last start failed and that are not ready. */
  readonly unready: ReadonlySet<string>;
  /** Faults of the sockets of active units, by unit. */
  readonly socketFaults: ReadonlyMap<string, string>;
  readonly hashes: ReadonlyMap<string, InputHashes>;
  /** Homes that could not be read. */
  readonly faults: readonly Refusal[];
  readonly unreadable: ReadonlySet<string>;
}

/** Dependencies of the observation. */
export interface ObservePorts {
  readonly files: Files;
  readonly services: ServiceManager;
  homeOf(agent: AgentName): HomeFiles | undefined;
}

/** Number of files read in parallel. */
const PARALLEL_READS = 32;

/** Observes everything that is desired or recorded. */
export async function observe(
  desired: Desired,
  record: RenderRecord,
  context: {
    readonly paths: Paths;
    readonly ports: ObservePorts;
    readonly owners: ReadonlyMap<string, OwnerIds>;
    /** Folder of the bundled programs; undefined for the tree shape. */
    readonly bundleDir: string | undefined;
  },
): Promise<Observed> {
  const { files } = context.ports;
  const paths = new Set([
    ...desired.files.map((tagged) => tagged.file.path),
    ...desired.folders.filter((folder) => folder.home === undefined).map((folder) => folder.path),
    ...record.files.map((file) => file.path),
  ]);
  const entries = new Map<string, ObservedEntry>();
  await inParallel([...paths], async (path) => {
    const entry = await readEntry(files, path);
    if (entry !== undefined) entries.set(path, entry);
  });
  const homes = await observeHomes(desired, record, context);
  const isManagerRunning = await context.ports.services.isRunning();
  const names = unitNames(desired, record, context.paths);
  const statuses = isManagerRunning ? await context.ports.services.status(names) : [];
  const unready = new Set<string>();
  await inParallel(statuses, async ({ unit, active }) => {
    if (active !== "active" || record.units[unit]?.unready !== true) return;
    // If the manager has no readiness check, an active unit counts as ready.
    if (await context.ports.services.isReady?.(unit) === false) unready.add(unit);
  });
  const units = new Map(statuses.map((status) => [status.unit, status]));
  const sockets = wantedSockets(desired, context.owners);
  const socketFaults = await observeSockets(sockets, units, context.ports);
  const enabled = new Set<string>();
  await inParallel(desired.units, async (unit) => {
    const link = `${context.paths.units}/${unit.wantedBy}.wants/${unit.name}`;
    if (await files.stat(link) !== undefined) enabled.add(unit.name);
  });
  const programs = await readPrograms(desired, files, context.bundleDir);
  const hashes = new Map<string, InputHashes>();
  for (const unit of desired.units) {
    const links = await Promise.all(unit.links.map((path) => files.readLink(path)));
    hashes.set(unit.name, await hashInputs(unit, programs, links));
  }
  return {
    entries,
    ...homes,
    owners: context.owners,
    units,
    enabled,
    isManagerRunning,
    unready,
    socketFaults,
    hashes,
  };
}

function wantedSockets(
  desired: Desired,
  owners: ReadonlyMap<string, OwnerIds>,
): readonly WantedSocket[] {
  return desired.units.flatMap(({ name, socket, isStopped }) => {
    if (socket === undefined || isStopped === true) return [];
    const owner = socket.owner === undefined ? undefined : owners.get(ownerKey(socket.owner));
    return [{ unit: name, path: socket.path, mode: socket.mode, owner }];
  });
}

/** Returns the key of an owner in `Observed.owners`. */
export function ownerKey(owner: FileOwner): string {
  return `${owner.user}:${owner.group}`;
}

/** Returns the recorded and desired units that the manager can report on (no templates). */
function unitNames(desired: Desired, record: RenderRecord, paths: Paths): readonly string[] {
  const recorded = record.files.map((file) => unitOfPath(file.path, paths))
    .filter((name) => name !== undefined);
  return [...new Set([...desired.units.map((unit) => unit.name), ...recorded])].sort();
}

/**
 * Returns the unit that the file at a path defines; undefined for other files, templates and
 * slices.
 */
export function unitOfPath(path: string, paths: Paths): string | undefined {
  if (!path.startsWith(`${paths.units}/`)) return undefined;
  const name = path.slice(paths.units.length + 1);
  // A slice exists with the services in it: stopping it would stop them.
  const isNoUnit = name.includes("@.") || name.includes("/") || name.endsWith(".slice");
  return isNoUnit ? undefined : name;
}

async function readEntry(files: Files, path: string): Promise<ObservedEntry | undefined> {
  const stat = await files.stat(path);
  if (stat === undefined) return undefined;
  const text = stat.kind === "file" ? await files.readText(path) ?? "" : "";
  return { kind: stat.kind, mode: stat.mode, uid: stat.uid, gid: stat.gid, text };
}

async function observeHomes(
  desired: Desired,
  record: RenderRecord,
  { paths, ports }: { readonly paths: Paths; readonly ports: ObservePorts },
) {
  const held = desired.held.mcps;
  const clients = new Map<string, ObservedClient>();
  const homeFolders = new Map<string, number>();
  const faults: Refusal[] = [];
  const unreadable = new Set<string>();
  const recorded = new Map(record.clients.map((client) => [client.path, client]));
  const configs = new Map(desired.clients.map((config) => [config.path, config]));
  const wanted = new Map(
    [...record.clients, ...desired.clients].map((client) => [client.path, client.agent]),
  );
  await inParallel([...wanted], async ([path, agent]) => {
    const home = ports.homeOf(agent as AgentName);
    if (home === undefined) return;
    try {
      const stamp = await stampOf(ports.files, configs.get(path), { held, paths });
      const isSettled = stamp !== undefined && stamp === recorded.get(path)?.settled;
      const file = isSettled ? undefined : await home.read(path);
      clients.set(path, { text: file?.text, mode: file?.mode, stamp, isSettled });
    } catch (thrown) {
      unreadable.add(path);
      faults.push(refusal(
        "client-config-unreadable",
        `Cannot read ${JSON.stringify(path)} of agent ${JSON.stringify(agent)}: ` +
          errorText(thrown),
        { hints: [`ls -la ${path}`] },
      ));
    }
  });
  await inParallel(desired.folders, async (folder) => {
    if (folder.home === undefined) return;
    const home = ports.homeOf(folder.home);
    if (home === undefined) return;
    // No child with the agent's rights is needed for the mode: it is not shown to any user.
    const stat = await statInHome(ports.files, paths.home(folder.home), folder.path);
    const mode = stat?.kind === "directory"
      ? stat.mode
      : await home.folderMode(folder.path).catch(() => undefined);
    if (mode !== undefined) homeFolders.set(folder.path, mode);
  });
  return { clients, homeFolders, faults, unreadable };
}

async function readPrograms(
  desired: Desired,
  files: Files,
  dir: string | undefined,
): Promise<ReadonlyMap<string, string>> {
  const hashes = new Map<string, string>();
  if (dir === undefined) return hashes;
  const names = desired.units.flatMap(({ programs, origin }) => [
    ...programs,
    ...origin?.programs ?? [],
  ]);
  for (const name of new Set(names)) {
    const bytes = await files.readBytes(`${dir}/${name}.js`);
    hashes.set(name, bytes === undefined ? "absent" : await sha256(bytes));
  }
  return hashes;
}

async function hashInputs(
  unit: DesiredUnit,
  programs: ReadonlyMap<string, string>,
  links: readonly (string | undefined)[],
): Promise<InputHashes> {
  const text = (parts: readonly string[]) => new TextEncoder().encode(JSON.stringify(parts));
  const hashesOf = (names: readonly string[]) => names.map((name) => programs.get(name) ?? "");
  const used = hashesOf(unit.programs);
  const { origin } = unit;
  return {
    inputs: await sha256(text([...unit.inputs, ...used, ...links.map((link) => link ?? "")])),
    softInputs: await sha256(text(unit.softInputs)),
    ...(origin === undefined ? {} : {
      origin: {
        build: await sha256(text([...origin.build, ...hashesOf(origin.programs)])),
        rights: await sha256(text(origin.rights)),
      },
    }),
  };
}

async function inParallel<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const worker = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: PARALLEL_READS }, worker));
}
