/**
 * One version of a package entry before it is in the catalog: resolved, installed beside the tree
 * in use, tried out, and compared with the version before. Never writes the catalog.
 *
 * @module
 */

import { type Tried, tryOut } from "cli/mcp/catalog/try_out.ts";
import type { VerbContext } from "cli/context.ts";
import { type CodeDiff, diffCode, newPackages } from "core/catalog/code_diff.ts";
import { joinGrants, missingGrants } from "core/catalog/dry_start.ts";
import { type Grants, pinTree, versionOf } from "core/catalog/edit.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { parseManifest } from "core/catalog/parse_manifest.ts";
import { type PackageSource, printPin } from "core/catalog/pin.ts";
import { normalName } from "core/catalog/python_lock.ts";
import { readRegistryEnv } from "core/catalog/registry_env.ts";
import { diffTools, type ToolChange } from "core/catalog/tool_diff.ts";
import { isHeld, type LockedTool, lockTools, type ToolLock } from "core/catalog/tool_lock.ts";
import { vendorEntry } from "core/catalog/vendor.ts";
import type { Refusal } from "core/errors.ts";
import { ok, type Result } from "core/result.ts";
import type { McpName } from "core/names.ts";
import { resolvePin } from "core/catalog/resolve.ts";

/** A version that is installed and tried out. */
export interface Candidate {
  readonly manifest: Manifest;
  /** The texts that it was built from. */
  readonly texts: { readonly manifest: string; readonly lock: string };
  /** Absolute folder of its tree, which is not in use yet. */
  readonly tree: string;
  readonly tried: Tried;
  readonly tools: ReadonlyMap<string, LockedTool>;
}

/** The version that a candidate is compared with. */
export interface Baseline {
  readonly tools: ReadonlyMap<string, LockedTool>;
  /** Permissions that the version before has or requested. */
  readonly known: Grants;
  /** Undefined when the tree of the version before is not available. */
  readonly tree?: string;
  readonly lock?: string;
  /** Findings of the version before without a review. They carry over to the next version. */
  readonly unreviewed?: readonly string[];
}

const FAULT_LENGTH_MAX = 300;

/** The differences of a version. */
export interface Comparison {
  readonly changes: readonly ToolChange[];
  readonly code: CodeDiff | undefined;
  readonly packages: readonly string[];
  /** It listed no tools although there is a version to compare with. */
  readonly isUnknown: boolean;
  readonly toolLock: ToolLock;
}

/** Shows one step of a long verb as progress. */
export async function stepped<T>(
  context: VerbContext,
  at: { readonly text: string; readonly index: number; readonly total: number },
  work: () => Promise<Result<T>>,
): Promise<Result<T>> {
  context.progress.step({ ...at, state: "begin" });
  const done = await work();
  context.progress.step({ ...at, state: done.ok ? "done" : "failed" });
  return done;
}

/** Returns the options of the installer: the pinned Deno and the registry settings of this host. */
export async function installOptions(context: VerbContext) {
  const { ports, paths } = context;
  return {
    deno: paths.deno,
    env: { ...await readRegistryEnv(ports.files, paths), ...context.env },
  };
}

/** Resolves a pin at the registry; the first step of `total`. */
export async function resolvePackage(
  context: VerbContext,
  mcp: McpName,
  pin: PackageSource,
  total: number,
): ReturnType<typeof resolvePin> {
  const { ports, paths } = context;
  return await stepped(
    context,
    { text: `asking the registry for ${printPin(pin)}`, index: 0, total },
    async () => await resolvePin(mcp, pin, ports, paths, await installOptions(context)),
  );
}

/** Installs and tries out the version that a manifest text pins. */
export async function makeCandidate(
  context: VerbContext,
  entry: { readonly name: string; readonly manifest: string; readonly lock: string },
  steps: { readonly index: number; readonly total: number },
): Promise<Result<Candidate>> {
  const { ports, paths } = context;
  const parsed = parseManifest(entry.manifest, {
    name: entry.name,
    file: `${entry.name}/mcp.yaml`,
    origin: "overlay",
    lock: entry.lock,
  });
  if (!parsed.ok) return parsed;
  const manifest = parsed.value;
  const version = "version" in manifest.source ? manifest.source.version : "";
  const text = `installing ${manifest.name} ${version}`;
  const vendored = await stepped(
    context,
    { ...steps, text },
    async () =>
      await vendorEntry(manifest, ports, paths, {
        ...await installOptions(context),
        prepareOnly: true,
      }),
  );
  if (!vendored.ok) return vendored;
  const tree = vendored.value.folder;
  let tried: Tried | undefined;
  const locked = await stepped(
    context,
    { text: `trying out ${manifest.name} ${version}`, index: steps.index + 1, total: steps.total },
    async () => {
      tried = await tryOut(context, manifest, tree);
      return await lockTools((tried.tools ?? []).map(({ definition }) => definition));
    },
  );
  if (!locked.ok || tried === undefined) return locked as Result<never>;
  const pinned = pinTree(entry.manifest, entry.lock, vendored.value.treeHash);
  if (!pinned.ok) return pinned;
  const texts = { manifest: pinned.value, lock: entry.lock };
  return ok({ manifest, texts, tree, tried, tools: locked.value });
}

/** Compares a version with the one that an operator accepted before. */
export async function compare(
  context: VerbContext,
  candidate: Candidate,
  before: Baseline | undefined,
): Promise<Comparison> {
  const { manifest, tree, tried, tools } = candidate;
  const source = manifest.source as PackageSource;
  const version = versionOf(source);
  // The operator named a first version explicitly, so its tools are the baseline.
  const isUnknown = before !== undefined && tried.tools === undefined;
  // Without a list of tools no change is known. The whole MCP is held; its old tools are not
  // removed.
  const kept = keptTools(before, tools);
  const changes = before === undefined || isUnknown
    ? []
    : diffTools(before.tools, new Map([...tools, ...kept]));
  const widened = new Set(changes.filter((one) => one.widens).map((one) => one.tool));
  const code = before?.tree === undefined
    ? undefined
    : await diffCode(context.ports.files, { before: before.tree, after: tree }, source);
  const findings = [
    ...(isUnknown ? [untried(tried.fault)] : []),
    ...(before?.unreviewed ?? []),
    ...(code?.newAddresses ?? [])
      .map((address) => `its code names the new address ${JSON.stringify(address)}`),
    ...(code?.newPowers ?? []).map((power) => `its code ${power}, the version before did not`),
  ];
  const known = joinGrants(manifest.permissions, before?.known ?? {});
  const heldEntries = [...tools].filter(([tool]) => widened.has(tool)).map(([tool, locked]) => {
    const why = changes.filter((one) => one.tool === tool && one.widens)
      .map((one) => `${one.kind}: ${one.text}`);
    return [tool, { ...locked, why }] as const;
  });
  const held = {
    tools: new Map(heldEntries),
    permissions: missingGrants(tried.requested.permissions, known),
    findings,
  };
  return {
    changes,
    code,
    isUnknown,
    packages: before?.lock === undefined
      ? []
      : newPackages(before.lock, manifest.lock ?? "{}").filter((one) =>
        one !== `${ownName(source)}@${version}`
      ),
    toolLock: {
      version,
      tools: isUnknown
        ? before.tools
        : new Map([...tools, ...kept].filter(([tool]) => !widened.has(tool))),
      held,
      ...(isHeld(held) ? { heldSince: new Date(context.ports.clock.now()).toISOString() } : {}),
    },
  };
}

/**
 * Returns tools that were accepted from a running server and that the trial run does not list,
 * because it has no real keys. They stay accepted by their hash. If a running server lists one
 * differently, that tool is held.
 */
function keptTools(
  before: Baseline | undefined,
  tools: ReadonlyMap<string, LockedTool>,
): readonly (readonly [string, LockedTool])[] {
  return [...before?.tools ?? []].filter(([tool, { running }]) => running && !tools.has(tool));
}

const UNTRIED = "it could not be tried out: ";

function ownName({ kind, package: name }: PackageSource): string {
  return kind === "uvx" ? normalName(name) : name;
}

/** The fault may quote the server: use one line without control characters. */
function untried(fault: Refusal | undefined): string {
  const why = (fault?.message ?? "it listed no tools").replace(/[\s\p{C}]+/gu, " ").trim();
  return `${UNTRIED}${why.slice(0, FAULT_LENGTH_MAX)}`;
}

/**
 * Returns the findings of a version that also apply to the next one. Each names the version in
 * which it was found. A failed try says nothing about the next version, so it is left out.
 */
export function unreviewedFindings({ version, held }: ToolLock): readonly string[] {
  const marked = / \(in \S+, not reviewed\)$/;
  return held.findings.filter((one) => !one.startsWith(UNTRIED))
    .map((one) => marked.test(one) ? one : `${one} (in ${version}, not reviewed)`);
}

/** Removes the tree of a candidate that was not pinned. */
export async function dropCandidate(context: VerbContext, candidate: Candidate): Promise<void> {
  const { files } = context.ports;
  const current = await files.readLink(`${context.paths.deploy(candidate.manifest.name)}/current`);
  if (current !== undefined && candidate.tree.endsWith(`/${current}`)) return;
  await files.remove(`${candidate.tree}.json`);
  await files.remove(candidate.tree, { recursive: true });
}
