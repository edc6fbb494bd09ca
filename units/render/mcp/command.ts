/**
 * The command line of an MCP server: exactly the permissions that its manifest grants. No I/O.
 *
 * An npm server runs under the pinned Deno. With `--ignore-env`, unlisted variables read as
 * undefined. Programs that Deno starts (`run`) still inherit the real environment. Such servers,
 * and those of `engine: node`, therefore start through `fleetctl-keep-env`, which drops the other
 * variables. All start through `fleetctl-checked`, which first compares the tree with its record. A
 * Python server is confined by the view of `units/render/mcp/python.ts`.
 *
 * @module
 */

import { isSandboxed, type Manifest } from "core/catalog/manifest.ts";
import { treePath } from "core/catalog/vendor.ts";
import type { AgentName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { checkSecretKey } from "core/secrets/shards.ts";
import { closedWithin } from "units/render/mcp/closed_paths.ts";
import { CREDENTIALS } from "units/render/exec_line.ts";
import { bubblewrapWords, pythonWords, type SandboxView } from "units/render/mcp/python.ts";

/** Values of a manifest's placeholders in one service. */
export interface ServerContext {
  readonly paths: Paths;
  /** Undefined for a shared server. */
  readonly agent: AgentName | undefined;
  /** The agent's workspace; undefined for a shared server, which has its own folder. */
  readonly workdir: string | undefined;
  /**
   * Paths that no grant opens (`closed_paths.ts`); none for a shared server, which sees no home.
   */
  readonly closed: readonly string[];
  /** Value of `{project}`; the workspace when absent. */
  readonly project?: string;
}

/** Share of the memory limit that V8 may use before the server ends with a readable error. */
const HEAP_SHARE = 0.75;
const MIB = 1024 * 1024;
/** Non-secret variables that programs need to find other programs, their home and caches. */
const BASE_VARIABLES = ["HOME", "PATH", "LANG", "TMPDIR", "DENO_DIR", "DENO_NO_UPDATE_CHECK"];

/** Returns the folder of `{home}` and `$HOME`: the agent's, or a shared server's own. */
export function serverHome(manifest: Manifest, context: ServerContext): string {
  return context.agent === undefined
    ? context.paths.at(`/var/cache/fleetctl/mcp-${manifest.name}`)
    : context.paths.home(context.agent);
}

/** Replaces `{tree}`, `{home}`, `{workdir}`, `{project}` and `{lib}`. */
export function expandPlaceholders(
  text: string,
  manifest: Manifest,
  context: ServerContext,
): string {
  const home = serverHome(manifest, context);
  const workdir = context.workdir ?? home;
  const values: Readonly<Record<string, string>> = {
    tree: treePath(context.paths, manifest.name),
    home,
    workdir,
    project: context.project ?? workdir,
    lib: context.paths.lib,
  };
  return text.replace(
    /\{(tree|home|workdir|project|lib)\}/g,
    (_, name: string) => values[name] ?? "",
  );
}

/**
 * Set for every server and readable by it: its output goes to logs and to models, where terminal
 * color codes are noise.
 */
export const NO_COLOR = ["NO_COLOR", "1"] as const;

/** Returns the variables that the server itself may read, sorted. */
function declaredVariables(manifest: Manifest): readonly string[] {
  return [
    ...new Set([
      ...manifest.permissions.env,
      ...Object.keys(manifest.environment),
      ...manifest.requiredEnv,
      ...manifest.userEnv,
      ...manifest.optionalEnv,
      NO_COLOR[0],
    ]),
  ].sort();
}

/** Returns whether only the unit confines the server or the programs that it starts. */
export function startsPrograms(manifest: Manifest): boolean {
  return manifest.permissions.run.length > 0 || isSandboxed(manifest);
}

/**
 * Returns whether the command of a sandboxed server builds its own view of the host. The embedded
 * manager cannot build one. systemd can, but resolves the paths of a view as root: a link in a
 * folder of an agent would lead into files of another user. A server with paths therefore builds
 * its view with its own rights.
 */
export function buildsOwnView(manifest: Manifest, context: ServerContext): boolean {
  if (!isSandboxed(manifest)) return false;
  if (context.paths.root !== "/") return true;
  const { read, write } = manifest.permissions;
  return read.length + write.length > 0;
}

/**
 * Returns the command line of one connection's server. `ownView` is false where the manager builds
 * the view of a sandboxed server.
 */
export function serverCommand(
  manifest: Manifest,
  context: ServerContext,
  ownView: boolean = buildsOwnView(manifest, context),
): readonly string[] {
  if (manifest.source.kind === "builtin") {
    return [context.paths.program("fleetctl-mcp"), "serve", manifest.source.name];
  }
  const own = [
    serverFile(manifest, context),
    ...manifest.args.map((arg) => expandPlaceholders(arg, manifest, context)),
  ];
  const view = isSandboxed(manifest) && ownView
    ? bubblewrapWords(sandboxView(manifest, context))
    : [];
  const words: readonly string[] = manifest.source.kind === "uvx"
    ? [...view, ...pythonWords(treePath(context.paths, manifest.name), own)]
    : manifest.engine === "node"
    ? [...view, "/usr/bin/env", "node", heapFlag(manifest), ...own]
    : [context.paths.deno, "run", ...denoFlags(manifest, context), ...own];
  const checked = [
    context.paths.program("fleetctl-checked"),
    manifest.name,
    ...fixedWords(manifest, context),
  ];
  if (!startsPrograms(manifest)) return [...checked, ...words];
  const keep = [...new Set([...BASE_VARIABLES, ...declaredVariables(manifest)])].join(",");
  return [...checked, context.paths.program("fleetctl-keep-env"), keep, ...words];
}

/**
 * Returns words that set variables of the manifest whose names a secret could also have. A unit
 * reads its env files after `Environment=`, so an agent's secret would replace them there. The
 * values are not secret: the catalog, the unit and the process list show them to every user.
 */
function fixedWords(manifest: Manifest, context: ServerContext): readonly string[] {
  const fixed = Object.entries(manifest.environment).filter(([name]) => checkSecretKey(name).ok);
  if (fixed.length === 0) return [];
  return [
    "/usr/bin/env",
    ...fixed.map(([name, value]) => `${name}=${expandPlaceholders(value, manifest, context)}`),
  ];
}

function serverFile(manifest: Manifest, context: ServerContext): string {
  return `${treePath(context.paths, manifest.name)}/${manifest.command ?? manifest.name}`;
}

/** Returns the view of a server in a sandbox. */
export function sandboxView(manifest: Manifest, context: ServerContext): SandboxView {
  const folders = (list: readonly string[]) =>
    list.map((text) => expandPlaceholders(text, manifest, context));
  return {
    manifest,
    deploy: context.paths.deploy(manifest.name),
    home: serverHome(manifest, context),
    keepsHome: context.agent === undefined,
    reads: folders(manifest.permissions.read),
    writes: folders(manifest.permissions.write),
  };
}

function heapFlag({ limits }: Manifest): string {
  const heapMib = Math.max(64, Math.floor(limits.memoryBytesMax * HEAP_SHARE / MIB));
  return `--max-old-space-size=${heapMib}`;
}

function denoFlags(manifest: Manifest, context: ServerContext): readonly string[] {
  const granted = manifest.permissions;
  const folders = (list: readonly string[]) =>
    list.map((text) => expandPlaceholders(text, manifest, context));
  return [
    "-q",
    "--no-prompt",
    "--cached-only",
    "--no-config",
    "--node-modules-dir=manual",
    "--no-lock",
    `--v8-flags=${heapFlag(manifest)}`,
    // The folder above the link: packages also find their own files by real paths.
    ...allow("read", [
      context.paths.deploy(manifest.name),
      ...folders(granted.read),
      ...(context.agent === undefined && manifest.oauth !== undefined ? [CREDENTIALS] : []),
    ]),
    ...list("--deny-read", closedWithin(context.closed, folders(granted.read))),
    ...allow("write", folders(granted.write)),
    ...list("--deny-write", closedWithin(context.closed, folders(granted.write))),
    ...allow("net", granted.net),
    ...allow("env", declaredVariables(manifest)),
    "--ignore-env",
    ...allow("run", folders(granted.run)),
    ...allow("sys", granted.sys),
  ];
}

/**
 * Returns the flag of one permission; an empty list grants nothing, `*` everything of that kind.
 */
function allow(kind: string, values: readonly string[]): readonly string[] {
  const flag = `--allow-${kind}`;
  return values.includes("*") ? [flag] : list(flag, values);
}

/** Returns a flag with its values; no flag without values, because Deno would read that as all. */
function list(flag: string, values: readonly string[]): readonly string[] {
  if (values.length === 0) return [];
  return [`${flag}=${values.map((value) => value.replaceAll(",", ",,")).join(",")}`];
}
