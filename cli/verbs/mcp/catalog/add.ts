/**
 * `fleetctl mcp catalog add`: pins a package, or a URL, as a new entry. The package is locked with
 * everything below it, installed beside the trees in use, and tried out; what it asked for beyond
 * `--grant` is proposed and held back until it is reviewed (decisions 30 and 36).
 *
 * @module
 */

import {
  type Candidate,
  compare,
  dropCandidate,
  makeCandidate,
  resolvePackage,
} from "cli/mcp/catalog/candidate.ts";
import { heldJson, heldLines } from "cli/mcp/catalog/settle.ts";
import { chooseLayer, isShipped, type Layer, writeEntry } from "cli/mcp/catalog/store.ts";
import type { VerbContext } from "cli/context.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import { underVerbLock } from "cli/planner.ts";
import { readCatalog } from "core/catalog/catalog.ts";
import { chooseProgram, type Grants, newManifest, parseGrants } from "core/catalog/edit.ts";
import { parseManifest } from "core/catalog/parse_manifest.ts";
import { type PackageSource, parsePin, printPin } from "core/catalog/pin.ts";
import { printToolLock } from "core/catalog/tool_lock.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { type McpName, parseMcpName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { type Invocation, repeated } from "core/verbs/invocation.ts";

/** What `fleetctl mcp catalog add` was asked for. */
export interface Options {
  readonly mcp: McpName;
  readonly source:
    | { readonly pin: PackageSource }
    | { readonly url: string; readonly headers?: Readonly<Record<string, string>> };
  readonly into: string | undefined;
  readonly program: string | undefined;
  readonly args: readonly string[];
  readonly requiredEnv: readonly string[];
  readonly optionalEnv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly grants: Grants;
  readonly isShared: boolean;
  readonly summary: string | undefined;
  /** The verb that a commit names: `import` adds in the same way. */
  readonly verb: string;
}

const STEPS = 3;

/** Parses the arguments; a range instead of a pin is refused before anything is asked for. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const mcp = parseMcpName(invocation.args.mcp ?? "");
  if (!mcp.ok) return mcp;
  const source = parseSourceOption(invocation.options, repeated(invocation, "header"));
  if (!source.ok) return source;
  const grants = parseGrants(repeated(invocation, "grant"));
  if (!grants.ok) return grants;
  return ok({
    mcp: mcp.value,
    source: source.value,
    into: invocation.options.into,
    program: invocation.options.program,
    args: repeated(invocation, "arg"),
    requiredEnv: repeated(invocation, "env"),
    optionalEnv: [],
    environment: {},
    grants: grants.value,
    isShared: invocation.switches.has("shared"),
    summary: invocation.options.summary,
    verb: "mcp catalog add",
  });
}

function parseSourceOption(
  { npm, uvx, url }: Invocation["options"],
  headerTexts: readonly string[],
): Result<Options["source"]> {
  const headers = parseHeaders(headerTexts);
  if (headers === undefined || (headerTexts.length > 0 && url === undefined)) {
    return err(refusal(
      "header-invalid",
      "Cannot add to the catalog: a --header is unusable, must be 'Name: text' beside --url",
      { kind: "usage", hints: ["fleetctl mcp catalog add --help"] },
    ));
  }
  const named = [npm, uvx, url].filter((one) => one !== undefined).length;
  if (named !== 1) {
    return err(refusal(
      "source-missing",
      `Cannot add to the catalog: ${
        named === 0 ? "no source is named" : `${named} sources are named`
      }, must be one of --npm, --uvx and --url`,
      { kind: "usage", hints: ["fleetctl mcp catalog add --help"] },
    ));
  }
  if (url !== undefined) return ok({ url, headers });
  const pin = npm === undefined ? parsePin("uvx", uvx ?? "") : parsePin("npm", npm);
  return pin.ok ? ok({ pin: pin.value }) : pin;
}

/** Adds the entry. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  return await underVerbLock(context, async () => {
    const layer = await chooseLayer(context, options.into);
    if (!layer.ok) return layer;
    const free = await checkFree(context, options.mcp);
    if (!free.ok) return free;
    return "url" in options.source
      ? await addUrl(context, options, options.source, layer.value)
      : await addPackage(context, options, options.source.pin, layer.value);
  });
}

async function checkFree(context: VerbContext, mcp: McpName): Promise<Result<void>> {
  const catalog = await readCatalog(context.ports, context.paths);
  if (!catalog.ok) return catalog;
  const isTaken = isShipped(mcp) || catalog.value.entries.has(mcp) ||
    catalog.value.faults.some(({ name }) => name === mcp);
  if (!isTaken) return ok(undefined);
  return err(refusal(
    "mcp-exists",
    `Cannot add MCP "${mcp}" to the catalog: it has an entry of that name`,
    { hints: [`fleetctl mcp catalog browse ${mcp}`, `fleetctl mcp catalog upgrade ${mcp} --help`] },
  ));
}

function parseHeaders(texts: readonly string[]): Readonly<Record<string, string>> | undefined {
  const headers: Record<string, string> = {};
  for (const text of texts) {
    const [, name, value] = /^([A-Za-z0-9-]+):\s*(\S.*)$/.exec(text) ?? [];
    if (name === undefined || value === undefined || Object.hasOwn(headers, name)) return undefined;
    headers[name] = value;
  }
  return headers;
}

async function addUrl(
  context: VerbContext,
  options: Options,
  source: Extract<Options["source"], { readonly url: string }>,
  layer: Layer,
): Promise<Result<VerbReport>> {
  const { mcp } = options;
  const { url } = source;
  const manifest = newManifest({
    name: mcp,
    summary: options.summary ?? `Server at ${URL.canParse(url) ? new URL(url).hostname : url}`,
    source,
    requiredEnv: options.requiredEnv,
    optionalEnv: options.optionalEnv,
    permissions: {},
    ...(options.isShared ? { scope: "shared" } : {}),
  });
  const parsed = parseManifest(manifest, { name: mcp, file: `${mcp}/mcp.yaml`, origin: layer });
  if (!parsed.ok) return err(doesNotFit(mcp, parsed.error));
  const written = await writeEntry(context, {
    mcp,
    layer,
    verb: options.verb,
    summary: `"${mcp}" at its vendor`,
    next: { manifest },
    previous: undefined,
  });
  if (!written.ok) return written;
  return ok({
    json: { mcp, layer, source: url, held: null },
    blocks: [{
      kind: "lines",
      lines: [
        `added  ${mcp} to the ${layer}, reached by URL: nothing was installed or tried out`,
        `wire it with: fleetctl mcp add ${mcp} <agent>`,
      ],
    }],
  });
}

/** What was typed made a manifest that cannot be: told without the file, which is not there. */
function doesNotFit(mcp: McpName, { code, details }: Refusal): Refusal {
  return refusal(code, `Cannot add MCP "${mcp}" to the catalog: what is given does not fit`, {
    kind: "usage",
    details: details.map((line) => line.replace(/^[^ ]+\.yaml:\d+: /, "")),
    hints: ["fleetctl mcp catalog add --help"],
  });
}

async function addPackage(
  context: VerbContext,
  options: Options,
  pin: PackageSource,
  layer: Layer,
): Promise<Result<VerbReport>> {
  const { mcp } = options;
  const resolved = await resolvePackage(context, mcp, pin, STEPS);
  if (!resolved.ok) return resolved;
  const command = chooseProgram(resolved.value, options.program);
  if (!command.ok) return command;
  const manifest = newManifest({
    name: mcp,
    summary: options.summary ?? resolved.value.description,
    source: resolved.value,
    command: command.value,
    args: options.args,
    requiredEnv: options.requiredEnv,
    optionalEnv: options.optionalEnv,
    environment: options.environment,
    permissions: options.grants,
    ...(options.isShared ? { scope: "shared" } : {}),
  });
  const { lock } = resolved.value;
  const steps = { index: 1, total: STEPS };
  const candidate = await makeCandidate(context, { name: mcp, manifest, lock }, steps);
  if (!candidate.ok) return candidate;
  const { toolLock } = await compare(context, candidate.value, undefined);
  const written = await writeEntry(context, {
    mcp,
    layer,
    verb: options.verb,
    summary: `"${mcp}" at ${printPin(pin)}`,
    next: { ...candidate.value.texts, tools: printToolLock(toolLock) },
    previous: undefined,
  });
  if (!written.ok) {
    await dropCandidate(context, candidate.value);
    return written;
  }
  return ok(await addReport(options, pin, layer, { candidate: candidate.value, toolLock }));
}

/** Said, not held: a first version has nothing that it could widen. */
const UNTRIED: Cell = {
  text:
    "tools  unknown: it could not be tried out (it may need a network or real keys), so nobody " +
    "has seen its tools, and none of its tools is held back",
  tone: "warn",
};

async function addReport(
  { mcp, requiredEnv }: Options,
  pin: PackageSource,
  layer: Layer,
  { candidate, toolLock }: {
    readonly candidate: Candidate;
    readonly toolLock: Parameters<typeof heldLines>[1];
  },
): Promise<VerbReport> {
  const { tried } = candidate;
  const undeclared = tried.asked.keys.filter((key) => !requiredEnv.includes(key));
  return {
    json: {
      mcp,
      layer,
      source: printPin(pin),
      tools: tried.tools === undefined ? null : tried.tools.map(({ name }) => name),
      asked_keys: tried.asked.keys,
      refused: tried.asked.refused,
      held: await heldJson(toolLock),
    },
    blocks: [{
      kind: "lines",
      lines: [
        `added  ${mcp} at ${printPin(pin)} to the ${layer}`,
        tried.tools === undefined
          ? UNTRIED
          : `tools  ${tried.tools.length}: ${tried.tools.map(({ name }) => name).join(", ")}`,
        ...undeclared.map((key) =>
          `key    it looked for ${key}, which is not declared (--env ${key})`
        ),
        ...tried.asked.refused.slice(0, 10).map((text) =>
          `never  ${text}: outside what can be granted`
        ),
        ...await heldLines(mcp, toolLock),
        `wire it with: fleetctl mcp add ${mcp} <agent>`,
      ],
    }],
    warnings: tried.fault === undefined ? [] : [tried.fault],
  };
}
