/**
 * `fleetctl mcp catalog add`: pins a package, or a URL, as a new entry. The package is locked with
 * all its dependencies, installed beside the trees in use, and tried out. Permissions that it
 * requested beyond `--grant` are proposed and held until a review. A tool that is not known to be
 * read-only needs approval until an operator decides otherwise.
 *
 * @module
 */

import {
  compare,
  dropCandidate,
  makeCandidate,
  resolvePackage,
} from "cli/mcp/catalog/candidate.ts";
import { addedPackage, addedUrl } from "cli/mcp/catalog/add_report.ts";
import { chooseLayer, isShipped, type Layer, writeEntry } from "cli/mcp/catalog/store.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { underVerbLock } from "cli/planner.ts";
import { readCatalog } from "core/catalog/catalog.ts";
import { chooseProgram, type Grants, newManifest, parseGrants } from "core/catalog/edit.ts";
import {
  checkMarked,
  markPairs,
  type Marks,
  parseMarks,
  proposeMarks,
  setMarks,
} from "core/catalog/risk_marks.ts";
import { holdsPassword, parseSettings } from "core/catalog/settings.ts";
import { parseManifest } from "core/catalog/parse_manifest.ts";
import { type PackageSource, parsePin, printPin } from "core/catalog/pin.ts";
import { printToolLock } from "core/catalog/tool_lock.ts";
import { defined } from "core/defined.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { type McpName, parseMcpName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { checkServerKeys } from "core/secrets/closed_keys.ts";
import { type Invocation, repeated } from "core/verbs/invocation.ts";

/** Options of `fleetctl mcp catalog add`. */
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
  readonly marks: Marks;
  readonly grants: Grants;
  readonly engine: "node" | undefined;
  readonly isShared: boolean;
  readonly summary: string | undefined;
  /** The verb named in the commit; `import` uses the same code. */
  readonly verb: string;
}

const STEPS = 3;

/** Parses the arguments. Refuses a range instead of a pin before any registry is queried. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const mcp = parseMcpName(invocation.args.mcp ?? "");
  if (!mcp.ok) return mcp;
  const source = parseSourceOption(invocation.options, repeated(invocation, "header"));
  if (!source.ok) return source;
  const unfit = unfitFor(source.value, invocation);
  if (unfit !== undefined) return err(unfit);
  const grants = parseGrants(repeated(invocation, "grant"));
  if (!grants.ok) return grants;
  const marks = parseMarks(repeated(invocation, "risk"));
  if (!marks.ok) return marks;
  const environment = parseSettings(repeated(invocation, "set-env"));
  if (!environment.ok) return environment;
  const requiredEnv = repeated(invocation, "env");
  const seen = checkServerKeys([...requiredEnv, ...grants.value.env ?? []]);
  if (!seen.ok) return seen;
  if (repeated(invocation, "arg").some(holdsPassword)) return err(secretArgument());
  return ok({
    mcp: mcp.value,
    source: source.value,
    into: invocation.options.into,
    program: invocation.options.program,
    args: repeated(invocation, "arg"),
    requiredEnv,
    optionalEnv: [],
    environment: environment.value,
    marks: marks.value,
    grants: grants.value,
    engine: invocation.options.engine === "node" ? "node" : undefined,
    isShared: invocation.switches.has("shared"),
    summary: invocation.options.summary,
    verb: "mcp catalog add",
  });
}

/** The message omits the value, because it is a secret. */
function secretArgument(): Refusal {
  return refusal(
    "argument-secret",
    "Cannot add to the catalog: an --arg contains a URL with a password, must contain no secret",
    {
      kind: "usage",
      details: ["name a secret with --env, and store its value with `secret set`"],
      hints: ["fleetctl mcp catalog add --help"],
    },
  );
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

/** Refuses options that do not apply to the source: a URL has no package to start. */
function unfitFor(source: Options["source"], invocation: Invocation): Refusal | undefined {
  const given = ["arg", "grant", "set-env", "program", "engine"].filter((name) =>
    repeated(invocation, name).length > 0 || invocation.options[name] !== undefined
  );
  const [found] = "url" in source
    ? given
    : given.filter((name) => name === "engine" && source.pin.kind !== "npm");
  if (found === undefined) return undefined;
  const beside = "url" in source ? "--url" : "--uvx";
  const whose = found === "engine" ? "an npm package" : "a package";
  return refusal(
    "options-invalid",
    `Cannot add to the catalog: --${found} is for ${whose}, cannot be combined with ${beside}`,
    { kind: "usage", hints: ["fleetctl mcp catalog add --help"] },
  );
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
  const bare = newManifest({
    name: mcp,
    summary: options.summary ?? `Server at ${URL.canParse(url) ? new URL(url).hostname : url}`,
    source,
    requiredEnv: options.requiredEnv,
    optionalEnv: options.optionalEnv,
    permissions: {},
    ...(options.isShared ? { scope: "shared" } : {}),
  });
  const proposed = proposeMarks(undefined, options.marks);
  const marked = marksIn(bare, options, proposed);
  if (!marked.ok) return marked;
  const manifest = marked.value;
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
  return written.ok
    ? ok(addedUrl({ mcp, layer, source: url, proposed, seen: parsed.value }))
    : written;
}

/** Writes the operator's marks and the proposed ones into the manifest. */
function marksIn(
  manifest: string,
  { mcp, marks }: Options,
  proposed: Parameters<typeof markPairs>[0],
): Result<string> {
  return setMarks(manifest, [...marks, ...markPairs(proposed)], `${mcp}/mcp.yaml`);
}

/**
 * Returns the refusal for arguments that yield an invalid manifest. Its lines omit the file, which
 * does not exist.
 */
function doesNotFit(mcp: McpName, { code, details }: Refusal): Refusal {
  return refusal(code, `Cannot add MCP "${mcp}" to the catalog: an option does not fit`, {
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
    ...defined({ engine: options.engine }),
    ...(options.isShared ? { scope: "shared" } : {}),
  });
  const { lock } = resolved.value;
  const steps = { index: 1, total: STEPS };
  const candidate = await makeCandidate(context, { name: mcp, manifest, lock }, steps);
  if (!candidate.ok) return candidate;
  const { toolLock } = await compare(context, candidate.value, undefined);
  const { tools, texts, tried } = candidate.value;
  const isKnown = tried.tools !== undefined;
  const known = isKnown ? checkMarked(options.marks, tools.keys()) : ok(undefined);
  const proposed = proposeMarks(isKnown ? tools : undefined, options.marks);
  const marked = known.ok ? marksIn(texts.manifest, options, proposed) : known;
  const written = marked.ok
    ? await writeEntry(context, {
      mcp,
      layer,
      verb: options.verb,
      summary: `"${mcp}" at ${printPin(pin)}`,
      next: { ...texts, manifest: marked.value, tools: printToolLock(toolLock) },
      previous: undefined,
    })
    : marked;
  if (!written.ok) {
    await dropCandidate(context, candidate.value);
    return written;
  }
  return ok(
    await addedPackage(
      { mcp, layer, source: printPin(pin), proposed, seen: candidate.value.manifest },
      { candidate: candidate.value, toolLock },
    ),
  );
}
