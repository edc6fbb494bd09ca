/**
 * The host's catalog, in three layers. An entry of the ledger's overlay replaces one of the runtime
 * catalog, which replaces a shipped one. Files are read only through the port `Files`; the shipped
 * layer is part of the program. A broken entry becomes a fault and affects no other name. The lower
 * layer's entry of the same name is not used instead, because that could undo a `risk: block`.
 *
 * @module
 */

import { SHIPPED_ENTRIES } from "core/catalog/shipped.ts";
import { type ManifestContext, parseManifest } from "core/catalog/parse_manifest.ts";
import { versionOf } from "core/catalog/edit.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { LOCK_FILES } from "core/catalog/manifest_source.ts";
import {
  heldTools,
  isHeld,
  parseToolLock,
  readOnlyTools,
  type ToolLock,
} from "core/catalog/tool_lock.ts";
import { defined } from "core/defined.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { type McpName, parseMcpName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { FileFault, type Files } from "core/ports/files.ts";
import { err, ok, type Result } from "core/result.ts";

/** A catalog entry that cannot be used, and the reason. */
export interface CatalogFault {
  readonly name: string;
  readonly file: string;
  readonly refusal: Refusal;
}

/**
 * The MCPs that this host knows. `entries` is sorted by name. `readCatalog` puts each name in
 * either `entries` or `faults`. `addLastGoodEntries` (`cli/last_good_catalog.ts`) may add the last
 * good entry to a name with a fault: reconcile renders that entry, and `findEntry` still refuses
 * the name.
 */
export interface Catalog {
  readonly entries: ReadonlyMap<McpName, Manifest>;
  readonly faults: readonly CatalogFault[];
}

/** Most entries in one catalog folder; a folder with more is refused. */
const ENTRIES_MAX = 1000;

type Reader = Pick<Files, "list" | "readText" | "stat">;

/** Reads the catalog of a host. Refuses only when a catalog folder itself cannot be read. */
export async function readCatalog(
  ports: { readonly files: Reader },
  paths: Pick<Paths, "overlayCatalog" | "runtimeCatalog">,
): Promise<Result<Catalog>> {
  const layers: Layer[] = [readShipped()];
  for (
    const [folder, origin] of [
      [paths.runtimeCatalog, "runtime"],
      [paths.overlayCatalog, "overlay"],
    ] as const
  ) {
    const layer = await readLayer(ports.files, folder, origin);
    if (!layer.ok) return layer;
    layers.push(layer.value);
  }
  return ok(mergeLayers(layers));
}

/** Returns the entry, or a refusal that states why the catalog has no usable one. */
export function findEntry(catalog: Catalog, name: string): Result<Manifest> {
  const fault = catalog.faults.find((one) => one.name === name);
  if (fault !== undefined) return err(fault.refusal);
  const entry = catalog.entries.get(name as McpName);
  if (entry !== undefined) return ok(entry);
  return err(refusal(
    "mcp-not-catalogued",
    `Cannot find MCP ${JSON.stringify(name.slice(0, 60))}: the catalog has no such entry`,
    { hints: ["fleetctl mcp catalog list"] },
  ));
}

type Layer = ReadonlyMap<string, Result<Manifest, CatalogFault>>;

function mergeLayers(layers: readonly Layer[]): Catalog {
  const merged = new Map<string, Result<Manifest, CatalogFault>>();
  for (const layer of layers) {
    for (const [name, entry] of layer) merged.set(name, entry);
  }
  const entries = new Map<McpName, Manifest>();
  const faults: CatalogFault[] = [];
  for (const name of [...merged.keys()].sort()) {
    const entry = merged.get(name);
    if (entry?.ok === true) entries.set(entry.value.name, entry.value);
    else if (entry !== undefined) faults.push(entry.error);
  }
  return { entries, faults };
}

/** The shipped layer is part of the program and never changes, so it is parsed once. */
let shippedLayer: Layer | undefined;

function readShipped(): Layer {
  shippedLayer ??= new Map(SHIPPED_ENTRIES.map((entry) => [
    entry.name,
    parseEntry(entry.manifest, {
      name: entry.name,
      file: `shipped/${entry.name}/mcp.yaml`,
      origin: "shipped",
      lock: entry.lock,
    }),
  ]));
  return shippedLayer;
}

async function readLayer(
  files: Reader,
  folder: string,
  origin: "overlay" | "runtime",
): Promise<Result<Layer>> {
  let names: readonly string[];
  try {
    names = (await files.list(folder)).filter((name) => !name.startsWith("."));
  } catch (thrown) {
    if (!(thrown instanceof FileFault)) throw thrown;
    return err(refusal(
      "catalog-unreadable",
      `Cannot read the catalog "${folder}": ${thrown.code}, must be a readable folder`,
    ));
  }
  if (names.length > ENTRIES_MAX) {
    return err(refusal(
      "catalog-too-large",
      `Cannot read the catalog "${folder}": it has ${names.length} entries, at most ${ENTRIES_MAX}`,
    ));
  }
  const layer = new Map<string, Result<Manifest, CatalogFault>>();
  for (const name of names) {
    const entry = await readCatalogEntry(files, { folder, name, origin });
    if (entry !== undefined) layer.set(name, entry);
  }
  return ok(layer);
}

/** Reads the entry `name` of a catalog folder; returns undefined if it is not a folder itself. */
export async function readCatalogEntry(
  files: Reader,
  at: { readonly folder: string; readonly name: string; readonly origin: "overlay" | "runtime" },
): Promise<Result<Manifest, CatalogFault> | undefined> {
  const { name, origin } = at;
  const file = `${at.folder}/${name}/mcp.yaml`;
  const fault = (reason: Refusal) => err({ name, file, refusal: reason });
  try {
    const stat = await files.stat(`${at.folder}/${name}`);
    // A README or an editor's backup beside the entries is not an entry.
    if (stat?.kind !== "directory") return undefined;
    const parsedName = parseMcpName(name);
    if (!parsedName.ok) return fault(parsedName.error);
    const manifest = await files.readText(file);
    if (manifest === undefined) {
      return fault(refusal(
        "manifest-missing",
        `Cannot use MCP "${name}": there is no file "${file}"`,
      ));
    }
    const lock = await files.readText(`${at.folder}/${name}/${LOCK_FILES.npm}`) ??
      await files.readText(`${at.folder}/${name}/${LOCK_FILES.uvx}`);
    const parsed = parseEntry(manifest, { file, name, origin, lock });
    const tools = await files.readText(`${at.folder}/${name}/tools.lock`);
    if (!parsed.ok || tools === undefined) return parsed;
    const held = withToolLock(parsed.value, tools, `${at.folder}/${name}/tools.lock`);
    return held.ok ? held : fault(held.error);
  } catch (thrown) {
    if (!(thrown instanceof FileFault)) throw thrown;
    return fault(refusal(
      "manifest-unreadable",
      `Cannot use MCP ${JSON.stringify(name)}: "${thrown.path}" cannot be read, ${thrown.code}`,
    ));
  }
}

/**
 * Blocks the tools that an upgrade widened until a person has reviewed them. Refuses a lock of
 * another version.
 */
function withToolLock(manifest: Manifest, text: string, file: string): Result<Manifest> {
  const lock = parseToolLock(text, file);
  if (!lock.ok) return lock;
  if (lock.value.version !== versionOf(manifest.source)) {
    return err(refusal(
      "tool-lock-stale",
      `Cannot use MCP "${manifest.name}": its tools were locked for version ` +
        `${lock.value.version}, the manifest pins ${versionOf(manifest.source)}`,
      { hints: [`fleetctl mcp catalog upgrade ${manifest.name} --help`] },
    ));
  }
  const held = heldTools(lock.value);
  const readOnly = new Set([...manifest.readOnly, ...readOnlyTools(lock.value)]);
  for (const tool of held) readOnly.delete(tool);
  const locked: Manifest = {
    ...manifest,
    readOnly,
    ...acceptedToolsOf(lock.value),
    ...heldBackOf(lock.value),
  };
  if (held.length === 0) return ok(locked);
  const blocked = held.map((tool) => [tool, "block"] as const);
  return ok({ ...locked, heldTools: held, risk: new Map([...manifest.risk, ...blocked]) });
}

/**
 * Returns the hashes of the accepted tools. None if the lock lists no tool: then the first version
 * could not be tried out, and nothing was accepted.
 */
function acceptedToolsOf({ tools }: ToolLock): Pick<Manifest, "acceptedTools"> {
  if (tools.size === 0) return {};
  return { acceptedTools: new Map([...tools].map(([name, { hash }]) => [name, hash])) };
}

function heldBackOf({ held, heldSince }: ToolLock): Pick<Manifest, "heldBack"> {
  if (!isHeld(held)) return {};
  const reasons = [
    ...held.findings,
    ...[...held.tools].map(([tool, { why }]) => `tool ${JSON.stringify(tool)}: ${why.join("; ")}`),
    ...Object.entries(held.permissions).flatMap(([kind, list]) =>
      list.map((value) => `it requested ${kind} ${JSON.stringify(value)}`)
    ),
  ];
  return { heldBack: { reasons, ...defined({ since: heldSince }) } };
}

function parseEntry(text: string, context: ManifestContext): Result<Manifest, CatalogFault> {
  const parsed = parseManifest(text, context);
  return parsed.ok
    ? parsed
    : err({ name: context.name, file: context.file, refusal: parsed.error });
}
