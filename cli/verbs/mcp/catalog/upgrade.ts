/**
 * `fleetctl mcp catalog upgrade`: moves the pin of a package entry, or adds permissions to it. The
 * new version is first locked, installed and tried out. What it widens against the accepted version
 * is held until a review; everything else takes effect at once.
 *
 * @module
 */

import {
  type Baseline,
  type Candidate,
  compare,
  type Comparison,
  dropCandidate,
  installOptions,
  makeCandidate,
  resolvePackage,
  stepped,
  unreviewedFindings,
} from "cli/mcp/catalog/candidate.ts";
import { applyEntry, heldJson, heldLines } from "cli/mcp/catalog/apply_entry.ts";
import {
  chooseLayer,
  type Layer,
  readStored,
  type StoredEntry,
  writeEntry,
} from "cli/mcp/catalog/store.ts";
import { tryOut } from "cli/mcp/catalog/try_out.ts";
import type { VerbContext } from "cli/context.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import { underVerbLock } from "cli/planner.ts";
import { joinGrants } from "core/catalog/dry_start.ts";
import {
  addGrants,
  chooseProgram,
  type Grants,
  movePin,
  parseGrants,
  versionOf,
} from "core/catalog/edit.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { parseManifest } from "core/catalog/parse_manifest.ts";
import { type PackageSource, parsePin, printPin } from "core/catalog/pin.ts";
import type { ResolvedPin } from "core/catalog/resolved_pin.ts";
import { lockTools, parseToolLock, printToolLock } from "core/catalog/tool_lock.ts";
import { vendorEntry } from "core/catalog/vendor.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { type McpName, parseMcpName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { checkServerKeys } from "core/secrets/closed_keys.ts";
import { editYaml } from "core/text/yaml.ts";
import { type Invocation, repeated } from "core/verbs/invocation.ts";

/** Options of `fleetctl mcp catalog upgrade`. */
export interface Options {
  readonly mcp: McpName;
  readonly version: string;
  readonly grants: Grants;
  readonly into: string | undefined;
}

const STEPS = 4;

/** Parses the arguments. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const mcp = parseMcpName(invocation.args.mcp ?? "");
  if (!mcp.ok) return mcp;
  const version = invocation.options.to ?? "";
  // Name and kind come from the entry, so only the version is checked here.
  const pin = parsePin("npm", `${mcp.value}@${version}`);
  if (!pin.ok && !parsePin("uvx", `${mcp.value}==${version}`).ok) return pin;
  const grants = parseGrants(repeated(invocation, "grant"));
  if (!grants.ok) return grants;
  const seen = checkServerKeys(grants.value.env ?? []);
  if (!seen.ok) return seen;
  return ok({ mcp: mcp.value, version, grants: grants.value, into: invocation.options.into });
}

/** Moves the pin. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  return await underVerbLock(context, async () => {
    const stored = await readStored(context, options.mcp);
    if (!stored.ok) return stored;
    const layer = stored.value.layer === "shipped" || options.into !== undefined
      ? await chooseLayer(context, options.into)
      : ok(stored.value.layer);
    if (!layer.ok) return layer;
    const old = parseStored(options.mcp, stored.value);
    if (!old.ok) return old;
    const pin = pinOf(old.value, options.version);
    if (!pin.ok) return pin;
    const isSame = versionOf(old.value.source) === options.version;
    if (isSame && Object.keys(options.grants).length === 0) {
      return ok(unchangedReport(options));
    }
    return await upgrade(context, options, {
      stored: stored.value,
      old: old.value,
      layer: layer.value,
      pin: pin.value,
    });
  });
}

function parseStored(mcp: McpName, stored: StoredEntry): Result<Manifest> {
  return parseManifest(stored.manifest, {
    name: mcp,
    file: stored.file,
    origin: stored.layer,
    lock: stored.lock,
  });
}

/** Returns the entry's package at another version. Each kind has its own version syntax. */
function pinOf({ name, source }: Manifest, version: string): Result<PackageSource> {
  if (source.kind === "npm" || source.kind === "uvx") {
    const { kind, package: pkg } = source;
    return parsePin(kind, printPin({ kind, package: pkg, version }));
  }
  return err(refusal(
    "pin-unmovable",
    `Cannot upgrade MCP "${name}": its source is of kind "${source.kind}", must be a package`,
    { hints: ["fleetctl mcp catalog list"] },
  ));
}

function unchangedReport({ mcp, version }: Options): VerbReport {
  return {
    json: { mcp, from: version, to: version, changed: false },
    blocks: [{ kind: "lines", lines: [`unchanged  ${mcp} is at ${version} already`] }],
  };
}

interface From {
  readonly stored: StoredEntry;
  readonly old: Manifest;
  readonly layer: Layer;
  readonly pin: PackageSource;
}

async function upgrade(
  context: VerbContext,
  options: Options,
  from: From,
): Promise<Result<VerbReport>> {
  const { mcp, version } = options;
  const { stored, old, layer, pin } = from;
  const resolved = await resolvePackage(context, mcp, pin, STEPS);
  if (!resolved.ok) return resolved;
  const moved = movePin(stored.manifest, resolved.value, stored.file);
  const manifest = moved.ok ? addGrants(moved.value, options.grants, stored.file) : moved;
  if (!manifest.ok) return manifest;
  const { lock } = resolved.value;
  const entry = { name: mcp, manifest: manifest.value, lock };
  const candidate = await makeMoved(context, entry, resolved.value);
  if (!candidate.ok) return candidate;
  const baseline = await stepped(
    context,
    { text: `comparing with ${versionOf(old.source)}`, index: 3, total: STEPS },
    () => readBaseline(context, from),
  );
  const written = baseline.ok
    ? await record(context, options, from, { candidate: candidate.value, baseline: baseline.value })
    : baseline;
  if (!written.ok) {
    await dropCandidate(context, candidate.value);
    return written;
  }
  const settled = await applyEntry(context, mcp);
  if (!settled.ok) return settled;
  const lines = await reportLines(options, from, {
    comparison: written.value,
    command: candidate.value.manifest.command,
  });
  return ok({
    json: {
      mcp,
      layer,
      from: versionOf(old.source),
      to: version,
      changed: true,
      command: candidate.value.manifest.command ?? null,
      tool_changes: written.value.changes,
      code: written.value.code ?? null,
      new_packages: written.value.packages,
      held: await heldJson(written.value.toolLock),
      agents: settled.value.agents,
    },
    blocks: [{ kind: "lines", lines: [...lines, ...settled.value.lines] }],
    faults: settled.value.faults,
    warnings: untriedWarnings(mcp, candidate.value),
  });
}

function untriedWarnings(mcp: McpName, { tried }: Candidate): readonly Refusal[] {
  if (tried.fault === undefined) return [];
  const { fault } = tried;
  return [{ ...fault, hints: [...fault.hints, `fleetctl mcp catalog review ${mcp}`] }];
}

/**
 * Returns what an operator has accepted: the tool lock, or else what a trial run of the old version
 * lists.
 */
async function readBaseline(
  context: VerbContext,
  { stored, old }: From,
): Promise<Result<Baseline>> {
  const { ports, paths } = context;
  const vendored = await vendorEntry(old, ports, paths, {
    ...await installOptions(context),
    prepareOnly: true,
  });
  const tree = vendored.ok ? { tree: vendored.value.folder } : {};
  const lock = stored.lock === undefined ? {} : { lock: stored.lock };
  if (stored.tools !== undefined) {
    const accepted = parseToolLock(stored.tools, `${stored.file} (tools.lock)`);
    if (!accepted.ok) return accepted;
    const unreviewed = unreviewedFindings(accepted.value);
    const { tools } = accepted.value;
    return ok({ tools, known: old.permissions, unreviewed, ...tree, ...lock });
  }
  if (!vendored.ok) return vendored;
  const tried = await tryOut(context, old, vendored.value.folder);
  const tools = await lockTools((tried.tools ?? []).map(({ definition }) => definition));
  if (!tools.ok) return tools;
  const known = joinGrants(old.permissions, tried.requested.permissions);
  return ok({ tools: tools.value, known, ...tree, ...lock });
}

async function record(
  context: VerbContext,
  { mcp, version }: Options,
  { stored, layer }: From,
  { candidate, baseline }: { readonly candidate: Candidate; readonly baseline: Baseline },
): Promise<Result<Comparison>> {
  const comparison = await compare(context, candidate, baseline);
  const written = await writeEntry(context, {
    mcp,
    layer,
    verb: "mcp catalog upgrade",
    summary: `"${mcp}" to ${version}`,
    next: { ...candidate.texts, tools: printToolLock(comparison.toolLock) },
    // A rollback of a shipped entry's first change returns to the shipped entry, so nothing is
    // kept.
    previous: stored.layer === layer ? stored : undefined,
  });
  return written.ok ? ok(comparison) : written;
}

/** Builds the candidate. If the new version moved its program, changes the entry's command. */
async function makeMoved(
  context: VerbContext,
  entry: { readonly name: McpName; readonly manifest: string; readonly lock: string },
  resolved: ResolvedPin,
): Promise<Result<Candidate>> {
  const steps = { index: 1, total: STEPS };
  const made = await makeCandidate(context, entry, steps);
  if (made.ok || made.error.code !== "server-file-missing") return made;
  const program = chooseProgram(resolved);
  if (!program.ok) return made;
  const moved = editYaml(
    entry.manifest,
    (editor) => editor.set(["command"], program.value),
    "mcp.yaml",
  );
  return moved.ok
    ? await makeCandidate(context, { ...entry, manifest: moved.value }, steps)
    : moved;
}

async function reportLines(
  { mcp, version }: Options,
  { old, layer }: From,
  { comparison, command }: {
    readonly comparison: Comparison;
    readonly command: string | undefined;
  },
): Promise<readonly Cell[]> {
  const { changes, code, packages, isUnknown, toolLock } = comparison;
  const count = (list: readonly unknown[] | undefined) => list?.length ?? 0;
  const files = code === undefined
    ? "unknown: the version before is not here"
    : `${count(code.changed)} changed, ${count(code.added)} added, ${count(code.removed)} removed`;
  return [
    `pinned  ${mcp} from ${versionOf(old.source)} to ${version} in the ${layer}`,
    ...(command === old.command ? [] : [`starts  ${command}, which was ${old.command}`]),
    `code    ${files}`,
    ...(code?.newHosts ?? []).map((host) =>
      `code    names the new host ${host}, reached only if net grants it`
    ),
    ...(packages.length === 0
      ? []
      : [`below   ${packages.length} new packages: ${packages.slice(0, 20).join(", ")}`]),
    `tools   ${
      isUnknown ? "unknown" : changes.length === 0 ? "unchanged" : `${changes.length} changes`
    }`,
    ...changes.map((one): Cell => ({
      text: `  ${one.kind.padEnd(16)}${one.tool}  ${one.text}`,
      tone: one.widens ? "warn" : "dim",
    })),
    ...await heldLines(mcp, toolLock),
  ];
}
