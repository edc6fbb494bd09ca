/**
 * Vendors one npm or Python entry: stage, install by lock, copy, hash, switch. Effects through
 * ports only. `deploy/<mcp>/current` is a link that is replaced atomically, so a crash at any point
 * leaves the old tree or the new one. The next run removes what a crash left behind. Why with the
 * pinned Deno: ADR 0007.
 *
 * @module
 */

import { isUnusedFile } from "core/catalog/unused_files.ts";
import { type Install, installConfig, runInstall } from "core/catalog/install.ts";
import { type CheckedLock, checkLock } from "core/catalog/lock.ts";
import { installWheels, PACKAGES_FOLDER } from "core/catalog/python_install.ts";
import { checkPythonLock } from "core/catalog/python_lock.ts";
import { isSandboxed, type Manifest } from "core/catalog/manifest.ts";
import {
  parseTreeRecord,
  pinnedHash,
  type TreeRecord,
  type VendoredTree,
} from "core/catalog/vendored_tree.ts";
import { refusal } from "core/errors.ts";
import type { Paths } from "core/paths.ts";
import { FileFault, type Files } from "core/ports/files.ts";
import type { Processes } from "core/ports/processes.ts";
import type { Random } from "core/ports/random.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Trees } from "core/ports/trees.ts";

/** The ports that vendoring needs. */
export interface VendorPorts {
  readonly files: Files;
  readonly processes: Pick<Processes, "run" | "which">;
  readonly random: Pick<Random, "uuid">;
  readonly trees: Trees;
}

/** The Deno that installs, and how the host reaches its registry. */
export interface VendorOptions {
  /** Absolute path of the pinned Deno. */
  readonly deno: string;
  /** Environment of the caller; only its proxy, certificate and npm settings are used. */
  readonly env: Readonly<Record<string, string>>;
  /** Prepares and checks the tree but leaves `current` unchanged. */
  readonly prepareOnly?: true;
  /** Longest install from the registry, milliseconds; five minutes when absent. */
  readonly onlineMsMax?: number;
}

/** Files that installers write for themselves; they differ from run to run. */
const SKIPPED = [".deno.lock", ".setup-cache.bin", "__pycache__"];
/** The link to the tree in use. */
const CURRENT = "current";
const STAGE_PREFIX = ".stage-";
const ROOT = ".root";

/** Returns the folder of a manifest's `{tree}`. */
export function treePath(paths: Pick<Paths, "deploy">, mcp: string): string {
  return `${paths.deploy(mcp)}/${CURRENT}`;
}

/**
 * Returns the empty folder in which the service manager builds the sandboxed server's view of the
 * host; `deploy` is `deploy/<mcp>`. It contains only mount points.
 */
export function sandboxRoot(deploy: string): string {
  return `${deploy}/${ROOT}`;
}

/** Tells whether an entry has files to install. */
export function needsVendoring(manifest: Manifest): boolean {
  return manifest.source.kind === "npm" || manifest.source.kind === "uvx";
}

/** Ensures that the tree of an entry is installed and unaltered. Idempotent. */
export async function vendorEntry(
  manifest: Manifest,
  ports: VendorPorts,
  paths: Paths,
  options: VendorOptions,
): Promise<Result<VendoredTree>> {
  if (!needsVendoring(manifest)) {
    return ok({ treeHash: "none", changed: false, folder: paths.deploy(manifest.name) });
  }
  const lock = manifest.source.kind === "uvx"
    ? await checkPythonLock(manifest)
    : await checkLock(manifest);
  if (!lock.ok) return lock;
  const folder = paths.deploy(manifest.name);
  try {
    await ports.files.ensureDir(paths.locks);
    const held = await ports.files.lock(`${paths.locks}/vendor-${manifest.name}.lock`);
    try {
      return await vendorLocked({ manifest, lock: lock.value, ports, paths, options, folder });
    } finally {
      await held.release();
    }
  } catch (thrown) {
    if (!(thrown instanceof FileFault)) throw thrown;
    return err(fileRefusal(manifest, thrown));
  }
}

function fileRefusal(manifest: Manifest, fault: FileFault) {
  const isFull = fault.code === "ENOSPC";
  return refusal(
    isFull ? "disk-full" : "vendor-failed",
    `Cannot install MCP "${manifest.name}": ${
      isFull ? "no space left on the disk" : `"${fault.path}" cannot be used, ${fault.code}`
    }; the tree in use was not touched`,
    { details: [fault.message], hints: isFull ? ["df -h"] : [] },
  );
}

interface Job {
  readonly manifest: Manifest;
  readonly lock: CheckedLock;
  readonly ports: VendorPorts;
  readonly paths: Paths;
  readonly options: VendorOptions;
  /** `deploy/<mcp>`. */
  readonly folder: string;
}

async function vendorLocked(job: Job): Promise<Result<VendoredTree>> {
  const { files } = job.ports;
  await files.ensureDir(job.folder, { mode: 0o755 });
  if (isSandboxed(job.manifest)) {
    await files.ensureDir(sandboxRoot(job.folder), { mode: 0o755 });
  }
  const current = await files.readLink(`${job.folder}/${CURRENT}`);
  const inUse = current === undefined ? undefined : await readUsable(job, current);
  if (current !== undefined && inUse !== undefined && isWanted(job, inUse)) {
    return ok({ treeHash: pinnedHash(inUse), changed: false, folder: `${job.folder}/${current}` });
  }
  await sweepStages(job);
  const kept = await findKept(job, current);
  const made = kept === undefined ? await makeTree(job) : ok(kept);
  if (!made.ok) return made;
  if (job.options.prepareOnly !== true) return await switchTo(job, made.value, current);
  const { name, record } = made.value;
  return ok({ treeHash: pinnedHash(record), changed: true, folder: `${job.folder}/${name}` });
}

function isWanted(job: Job, record: TreeRecord): boolean {
  return record.lockIntegrity === job.lock.integrity && record.mcp === job.manifest.name &&
    (job.manifest.treeIntegrity ?? pinnedHash(record)) === pinnedHash(record);
}

interface NamedTree {
  /** Folder below `deploy/<mcp>`. */
  readonly name: string;
  readonly record: TreeRecord;
}

/** Returns the record of a tree if its bytes still match it, else undefined. */
async function readUsable(job: Job, name: string): Promise<TreeRecord | undefined> {
  const { files, trees } = job.ports;
  const tree = `${job.folder}/${name}`;
  const text = await files.readText(`${tree}.json`);
  const record = text === undefined ? undefined : parseTreeRecord(text);
  if (record === undefined || (await files.stat(tree))?.kind !== "directory") return undefined;
  try {
    const fingerprint = await trees.fingerprint(tree);
    if (fingerprint !== "" && fingerprint === record.fingerprint) return record;
    // The fingerprint is computed before the bytes are read, so that a concurrent write changes it.
    if ((await trees.summarize(tree)).treeHash !== record.treeHash) return undefined;
    // The bytes match but the inodes differ, as after a restore from a backup.
    await writeRecord(job, name, { ...record, fingerprint });
    return record;
  } catch (thrown) {
    if (thrown instanceof FileFault && thrown.code !== "EACCES") return undefined;
    throw thrown;
  }
}

async function writeRecord(job: Job, name: string, record: TreeRecord): Promise<void> {
  await job.ports.files.write(
    `${job.folder}/${name}.json`,
    `${JSON.stringify(record, null, 2)}\n`,
    { mode: 0o644 },
  );
}

async function sweepStages(job: Job): Promise<void> {
  for (const name of await job.ports.files.list(job.folder)) {
    if (name.startsWith(STAGE_PREFIX)) {
      await job.ports.files.remove(`${job.folder}/${name}`, { recursive: true });
    }
  }
}

/** Finds an earlier tree that matches the wanted state, so that a rollback needs no registry. */
async function findKept(job: Job, current: string | undefined): Promise<NamedTree | undefined> {
  for (const file of await job.ports.files.list(job.folder)) {
    const name = file.endsWith(".json") ? file.slice(0, -".json".length) : undefined;
    if (name === undefined || name === current) continue;
    const record = await readUsable(job, name);
    if (record !== undefined && isWanted(job, record)) return { name, record };
  }
  return undefined;
}

async function makeTree(job: Job): Promise<Result<NamedTree>> {
  const { files } = job.ports;
  const stage = `${job.folder}/${STAGE_PREFIX}${job.ports.random.uuid()}`;
  try {
    const cached = await installStaged(job, `${stage}/a`, { offline: true });
    const first = cached.ok ? await finishTree(job, `${stage}/a`) : cached;
    if (first.ok) return first;
    // The cache may be bad: clear it and install from the registry, checked by the lock.
    if (cached.ok) await files.remove(cacheOf(job), { recursive: true });
    const fetched = await installStaged(job, `${stage}/b`, { offline: false });
    return fetched.ok ? await finishTree(job, `${stage}/b`) : fetched;
  } finally {
    await files.remove(stage, { recursive: true });
  }
}

function cacheOf(job: Job): string {
  return `${job.paths.vendorCache}/${job.manifest.name}`;
}

async function installStaged(
  job: Job,
  folder: string,
  how: { readonly offline: boolean },
): Promise<Result<void>> {
  const { manifest: { name, source }, ports } = job;
  if (!("package" in source)) throw new Error("only packages are installed");
  await ports.files.ensureDir(folder, { mode: 0o700 });
  await ports.files.ensureDir(cacheOf(job), { mode: 0o700 });
  const { package: pkg, version } = source;
  const install: Install = {
    mcp: name,
    package: pkg,
    version,
    folder,
    cache: cacheOf(job),
    ...job.options,
  };
  if (source.kind === "uvx") {
    const lock = job.lock.text;
    return await installWheels(ports, install, { lock, isOffline: how.offline });
  }
  await ports.files.write(`${folder}/deno.json`, installConfig(source));
  await ports.files.write(`${folder}/deno.lock`, job.lock.text);
  return await runInstall(ports.processes, install, { frozen: true, ...how });
}

/** Copies the installed packages into a separate tree, hashes it and gives it its final name. */
async function finishTree(job: Job, folder: string): Promise<Result<NamedTree>> {
  const { manifest, ports } = job;
  const tree = `${folder}/tree`;
  const packages = manifest.source.kind === "uvx" ? PACKAGES_FOLDER : "node_modules";
  await ports.files.ensureDir(tree);
  await ports.trees.copy(`${folder}/${packages}`, `${tree}/${packages}`, SKIPPED);
  const command = await findServer(job, tree);
  if (!command.ok) return command;
  const installed = await ports.trees.summarize(tree);
  const wanted = manifest.treeIntegrity;
  if (wanted !== undefined && wanted !== installed.treeHash) {
    return err(refusal(
      "tree-altered",
      `Cannot install MCP "${manifest.name}": the installed tree has the hash ` +
        `${installed.treeHash}, ` +
        `must have ${wanted}; nothing was installed`,
    ));
  }
  const isNpm = manifest.source.kind === "npm";
  if (isNpm) await ports.trees.prune(tree, isUnusedFile);
  const finished = isNpm ? await ports.trees.summarize(tree) : installed;
  const version = "version" in manifest.source ? manifest.source.version : "0";
  const name = `${version.replace(/[^\w.-]/g, "_")}-${ports.random.uuid().slice(0, 8)}`;
  await ports.files.setMeta(tree, { mode: 0o755 });
  await ports.files.rename(tree, `${job.folder}/${name}`);
  const record: TreeRecord = {
    mcp: manifest.name,
    version,
    lockIntegrity: job.lock.integrity,
    ...finished,
    ...(isNpm ? { installedHash: installed.treeHash } : {}),
    fingerprint: await ports.trees.fingerprint(`${job.folder}/${name}`),
  };
  await writeRecord(job, name, record);
  return ok({ name, record });
}

/** Checks that the tree contains the file that the unit will start. */
async function findServer(job: Job, tree: string): Promise<Result<void>> {
  const { manifest } = job;
  const stat = await job.ports.files.stat(`${tree}/${manifest.command ?? ""}`);
  if (stat?.kind === "file") return ok(undefined);
  return err(refusal(
    "server-file-missing",
    `Cannot install MCP "${manifest.name}": its tree has no file "${manifest.command ?? ""}", ` +
      `must be the server's own file`,
  ));
}

async function switchTo(
  job: Job,
  next: NamedTree,
  before: string | undefined,
): Promise<Result<VendoredTree>> {
  const { files } = job.ports;
  await files.symlink(next.name, `${job.folder}/${CURRENT}`);
  for (const name of await files.list(job.folder)) {
    const tree = name.endsWith(".json") ? name.slice(0, -".json".length) : name;
    if ([next.name, before, CURRENT, ROOT].includes(tree)) continue;
    await files.remove(`${job.folder}/${name}`, { recursive: true });
  }
  return ok({
    treeHash: pinnedHash(next.record),
    changed: true,
    folder: `${job.folder}/${next.name}`,
  });
}

/**
 * Checks the tree in use, byte by byte. Before a start, `fleetctl-checked` first compares the
 * fingerprint with the recorded one; this check runs only if they differ.
 */
export async function checkTree(
  mcp: string,
  ports: Pick<VendorPorts, "files" | "trees">,
  paths: Pick<Paths, "deploy">,
): Promise<Result<TreeRecord>> {
  const bad = (state: string) =>
    err(refusal("tree-altered", `Cannot start MCP "${mcp}": ${state}`, {
      hints: ["fleetctl apply"],
    }));
  const folder = paths.deploy(mcp);
  try {
    const current = await ports.files.readLink(`${folder}/${CURRENT}`);
    if (current === undefined || current.includes("/")) return bad("it is not installed");
    const text = await ports.files.readText(`${folder}/${current}.json`);
    const record = text === undefined ? undefined : parseTreeRecord(text);
    if (record === undefined) return bad("the record of its files cannot be read");
    const tree = `${folder}/${current}`;
    const { treeHash } = await ports.trees.summarize(tree);
    return treeHash === record.treeHash
      ? ok(record)
      : bad("its files are not those that were installed");
  } catch (thrown) {
    if (!(thrown instanceof FileFault)) throw thrown;
    return bad(`"${thrown.path}" cannot be read, ${thrown.code}`);
  }
}
