/**
 * Reads and writes the files of one entry in a layer of the catalog; a write is atomic. The overlay
 * is part of the ledger, so a change there is one commit. The runtime catalog is plain files,
 * replaced by rename. The version before a change is kept in `previous/` for `rollback`.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { authorOf } from "cli/planner.ts";
import { LOCK_FILES } from "core/catalog/manifest_source.ts";
import { isPythonLock } from "core/catalog/python_lock.ts";
import { SHIPPED_ENTRIES } from "core/catalog/shipped.ts";
import { refusal } from "core/errors.ts";
import type { LedgerEdit } from "core/ledger/stage.ts";
import { commitChange } from "core/ledger/repository.ts";
import type { McpName } from "core/names.ts";
import { pathsUnder } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";

/** A layer that verbs can write. */
export type Layer = "overlay" | "runtime";

/** Texts of one entry. */
export interface EntryTexts {
  readonly manifest: string;
  readonly lock?: string | undefined;
  readonly tools?: string | undefined;
}

/** The stored entry and its layer. */
export interface StoredEntry extends EntryTexts {
  readonly layer: Layer | "shipped";
  /** Path for messages. */
  readonly file: string;
}

const FILES = ["mcp.yaml", LOCK_FILES.npm, LOCK_FILES.uvx, "tools.lock"] as const;

/** Returns the folder of a layer. */
function layerFolder(context: VerbContext, layer: Layer): string {
  return layer === "overlay" ? context.paths.overlayCatalog : context.paths.runtimeCatalog;
}

/**
 * Chooses the layer of a new entry: the one that `--into` names, else the overlay, or the runtime
 * catalog on a host without a repo.
 */
export async function chooseLayer(
  context: VerbContext,
  into: string | undefined,
): Promise<Result<Layer>> {
  const { paths, ports } = context;
  const hasRepo = await ports.files.stat(`${paths.repo}/.git/HEAD`) !== undefined;
  if (into === undefined) return ok(hasRepo ? "overlay" : "runtime");
  const layer = layerNamed(context, into);
  if (layer === "runtime" || (layer === "overlay" && hasRepo)) return ok(layer);
  if (layer === "overlay") {
    return err(refusal("ledger-missing", `Cannot write to the overlay: this host has no repo`, {
      hints: ["fleetctl apply"],
    }));
  }
  return err(refusal(
    "layer-unknown",
    `Cannot write to ${JSON.stringify(into.slice(0, 200))}: it is not a catalog of this host, ` +
      `must be "overlay" or "runtime"`,
    {
      kind: "usage",
      details: [`overlay: ${paths.overlayCatalog}`, `runtime: ${paths.runtimeCatalog}`],
    },
  ));
}

/**
 * Returns the layer that a word or folder names. Accepts paths of this root, paths as the documents
 * name them, and paths relative to the caller's folder.
 */
function layerNamed({ paths, cwd }: VerbContext, into: string): Layer | undefined {
  if (into === "runtime" || into === "overlay") return into;
  const folder = plainPath(into.startsWith("/") ? into : `${cwd}/${into}`);
  const documented = pathsUnder("/");
  if ([paths.runtimeCatalog, documented.runtimeCatalog].includes(folder)) return "runtime";
  if ([paths.overlayCatalog, documented.overlayCatalog].includes(folder)) return "overlay";
  return undefined;
}

/** Returns an absolute path without empty parts, "." and "..". */
function plainPath(path: string): string {
  const segments: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") segments.pop();
    else if (part !== "" && part !== ".") segments.push(part);
  }
  return `/${segments.join("/")}`;
}

/** Reads the effective entry: overlay before runtime before shipped. */
export async function readStored(
  context: VerbContext,
  mcp: McpName,
): Promise<Result<StoredEntry>> {
  await putBack(context, `${context.paths.runtimeCatalog}/${mcp}`);
  for (const layer of ["overlay", "runtime"] as const) {
    const found = await readAt(context, `${layerFolder(context, layer)}/${mcp}`);
    if (found !== undefined) {
      return ok({ ...found, layer, file: `${layerFolder(context, layer)}/${mcp}/mcp.yaml` });
    }
  }
  const shipped = SHIPPED_ENTRIES.find(({ name }) => name === mcp);
  if (shipped !== undefined) {
    const { manifest, lock } = shipped;
    return ok({ manifest, lock, layer: "shipped", file: `shipped/${mcp}/mcp.yaml` });
  }
  return err(refusal(
    "mcp-not-catalogued",
    `Cannot find MCP ${JSON.stringify(mcp)}: the catalog has no such entry`,
    { hints: ["fleetctl mcp catalog list"] },
  ));
}

/** Reads the version before the last change; undefined when none is kept. */
export async function readPrevious(
  context: VerbContext,
  mcp: McpName,
  layer: Layer,
): Promise<EntryTexts | undefined> {
  return await readAt(context, `${layerFolder(context, layer)}/${mcp}/previous`);
}

async function readAt(context: VerbContext, folder: string): Promise<EntryTexts | undefined> {
  const { files } = context.ports;
  const [manifest, npmLock, wheelsLock, tools] = await Promise.all(
    FILES.map((name) => files.readText(`${folder}/${name}`)),
  );
  return manifest === undefined ? undefined : { manifest, lock: npmLock ?? wheelsLock, tools };
}

/** Returns whether an entry ships with the product. */
export function isShipped(mcp: McpName): boolean {
  return SHIPPED_ENTRIES.some(({ name }) => name === mcp);
}

/** One change of one entry; undefined texts remove it. */
export interface EntryChange {
  readonly mcp: McpName;
  readonly layer: Layer;
  readonly verb: string;
  /** Rest of the commit subject. */
  readonly summary: string;
  readonly next: EntryTexts | undefined;
  readonly previous: EntryTexts | undefined;
}

/** Writes an entry in one commit or by one rename. */
export async function writeEntry(
  context: VerbContext,
  change: EntryChange,
): Promise<Result<void>> {
  const folder = `${layerFolder(context, change.layer)}/${change.mcp}`;
  const wanted: readonly (readonly [string, string | undefined])[] = [
    ...textsOf("", change.next),
    ...textsOf("previous/", change.previous),
  ];
  if (change.layer === "runtime") return await writeRuntime(context, folder, wanted);
  await context.ports.files.ensureDir(folder, { mode: 0o755 });
  const edits = wanted.map(([name, text]): LedgerEdit => ({
    path: `${folder}/${name}`,
    mode: 0o644,
    change: () => ok(text),
  }));
  const done = await commitChange(context.ports, context.paths, {
    ...authorOf(context, change.verb),
    summary: change.summary,
    edits,
  });
  if (!done.ok) return done;
  if (change.next === undefined) await removeEmpty(context, folder);
  return ok(undefined);
}

function textsOf(prefix: string, texts: EntryTexts | undefined) {
  const lock = texts?.lock;
  const isWheels = lock !== undefined && isPythonLock(lock);
  return [
    [`${prefix}mcp.yaml`, texts?.manifest] as const,
    [`${prefix}${LOCK_FILES.npm}`, isWheels ? undefined : lock] as const,
    [`${prefix}${LOCK_FILES.uvx}`, isWheels ? lock : undefined] as const,
    [`${prefix}tools.lock`, texts?.tools] as const,
  ];
}

/** Removes empty folders, as git does. */
async function removeEmpty(context: VerbContext, folder: string): Promise<void> {
  const { files } = context.ports;
  for (const path of [`${folder}/previous`, folder]) {
    const isEmpty = (await files.list(path)).length === 0;
    if (isEmpty) await files.remove(path, { recursive: true });
  }
}

function asideOf(folder: string): string {
  const slash = folder.lastIndexOf("/");
  return `${folder.slice(0, slash)}/.${folder.slice(slash + 1)}.old`;
}

/** Restores the folder that an interrupted change moved aside. */
async function putBack({ ports: { files } }: VerbContext, folder: string): Promise<void> {
  const isGone = await files.stat(folder) === undefined;
  if (isGone && await files.stat(asideOf(folder)) !== undefined) {
    await files.rename(asideOf(folder), folder);
  }
}

/**
 * Replaces the old folder by a new one. A crash between the two renames leaves the old folder under
 * a hidden name. The next verb that reads the entry restores it.
 */
async function writeRuntime(
  context: VerbContext,
  folder: string,
  wanted: readonly (readonly [string, string | undefined])[],
): Promise<Result<void>> {
  const { files, random } = context.ports;
  const slash = folder.lastIndexOf("/");
  const aside = asideOf(folder);
  const stage = `${folder.slice(0, slash)}/.${folder.slice(slash + 1)}.${random.uuid()}`;
  await putBack(context, folder);
  await files.remove(aside, { recursive: true });
  try {
    for (const [name, text] of wanted) {
      if (text === undefined) continue;
      const path = `${stage}/${name}`;
      await files.ensureDir(path.slice(0, path.lastIndexOf("/")), { mode: 0o755 });
      await files.write(path, text, { mode: 0o644 });
    }
    await files.ensureDir(folder.slice(0, slash), { mode: 0o755 });
    if (await files.stat(folder) !== undefined) await files.rename(folder, aside);
    if (await files.stat(stage) !== undefined) {
      await files.setMeta(stage, { mode: 0o755 });
      await files.rename(stage, folder);
    }
    await files.remove(aside, { recursive: true });
    return ok(undefined);
  } finally {
    await files.remove(stage, { recursive: true });
  }
}
