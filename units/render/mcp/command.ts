/**
 * The command line of an MCP server: exactly what its manifest grants, and nothing by default
 * (decision 36). No I/O.
 *
 * An npm server runs under the pinned Deno. `--ignore-env` makes every variable that is not listed
 * read as undefined; what Deno starts (`run`) still inherits the real environment, so such servers,
 * and those of `engine: node`, go through `fleetctl-keep-env`, which drops the rest before. All go through
 * `fleetctl-checked`, which compares the tree with its record first (decision 30). A Python server
 * is confined by the view of `units/render/mcp/python.ts`.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import { treePath } from "core/catalog/vendor.ts";
import type { AgentName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { CREDENTIALS } from "units/render/exec_line.ts";
import { bubblewrapWords, type PythonView, pythonWords } from "units/render/mcp/python.ts";

/** What the placeholders of a manifest stand for in one service. */
export interface ServerPlace {
  readonly paths: Paths;
  /** Undefined for a shared server. */
  readonly agent: AgentName | undefined;
  /** The agent's workspace; undefined for a shared server, which has its own folder. */
  readonly workdir: string | undefined;
  /** What `{project}` stands for; the workspace when absent. */
  readonly project?: string;
}

/** Share of the memory limit that V8 may fill before the server ends with a readable error. */
const HEAP_SHARE = 0.75;
const MIB = 1024 * 1024;
/** What a program needs to be found and to find itself; not secret. */
const BASE_VARIABLES = ["HOME", "PATH", "LANG", "TMPDIR", "DENO_DIR", "DENO_NO_UPDATE_CHECK"];

/** Returns the folder that `{home}` and `$HOME` mean: the agent's, or a shared server's own. */
export function serverHome(manifest: Manifest, place: ServerPlace): string {
  return place.agent === undefined
    ? place.paths.at(`/var/cache/fleetctl/mcp-${manifest.name}`)
    : place.paths.home(place.agent);
}

/** Fills in `{tree}`, `{home}`, `{workdir}`, `{project}` and `{lib}`. */
export function expandPlaceholders(text: string, manifest: Manifest, place: ServerPlace): string {
  const home = serverHome(manifest, place);
  const workdir = place.workdir ?? home;
  const values: Readonly<Record<string, string>> = {
    tree: treePath(place.paths, manifest.name),
    home,
    workdir,
    project: place.project ?? workdir,
    lib: place.paths.lib,
  };
  return text.replace(
    /\{(tree|home|workdir|project|lib)\}/g,
    (_, name: string) => values[name] ?? "",
  );
}

/** Returns the variables that the server itself may read, sorted. */
export function declaredVariables(manifest: Manifest): readonly string[] {
  return [
    ...new Set([
      ...manifest.permissions.env,
      ...Object.keys(manifest.environment),
      ...manifest.requiredEnv,
      ...manifest.userEnv,
      ...manifest.optionalEnv,
    ]),
  ].sort();
}

/** Tells whether the server, or what it starts, is confined by the unit alone. */
export function startsPrograms(manifest: Manifest): boolean {
  return manifest.permissions.run.length > 0 || manifest.source.kind === "uvx" ||
    (manifest.source.kind === "npm" && manifest.engine === "node");
}

/** Returns the command line of one connection's server. */
export function serverCommand(
  manifest: Manifest,
  place: ServerPlace,
): readonly string[] {
  if (manifest.source.kind === "builtin") {
    return [place.paths.program("fleetctl-mcp"), "serve", manifest.source.name];
  }
  const own = [
    serverFile(manifest, place),
    ...manifest.args.map((arg) => expandPlaceholders(arg, manifest, place)),
  ];
  const words: readonly string[] = manifest.source.kind === "uvx"
    ? [...pythonSandbox(manifest, place), ...pythonWords(treePath(place.paths, manifest.name), own)]
    : manifest.engine === "node"
    ? ["/usr/bin/env", "node", ...own]
    : [place.paths.deno, "run", ...denoFlags(manifest, place), ...own];
  const checked = [place.paths.program("fleetctl-checked"), manifest.name];
  if (!startsPrograms(manifest)) return [...checked, ...words];
  const keep = [...new Set([...BASE_VARIABLES, ...declaredVariables(manifest)])].join(",");
  return [...checked, place.paths.program("fleetctl-keep-env"), keep, ...words];
}

function serverFile(manifest: Manifest, place: ServerPlace): string {
  return `${treePath(place.paths, manifest.name)}/${manifest.command ?? manifest.name}`;
}

/** Where there is no systemd to make the view, the command makes it. */
function pythonSandbox(manifest: Manifest, place: ServerPlace): readonly string[] {
  return place.paths.root === "/" ? [] : bubblewrapWords(pythonView(manifest, place));
}

/** Returns what a Python server sees. */
export function pythonView(manifest: Manifest, place: ServerPlace): PythonView {
  const folders = (list: readonly string[]) =>
    list.map((text) => expandPlaceholders(text, manifest, place));
  return {
    manifest,
    deploy: place.paths.deploy(manifest.name),
    home: place.agent === undefined ? undefined : serverHome(manifest, place),
    reads: folders(manifest.permissions.read),
    writes: folders(manifest.permissions.write),
  };
}

function denoFlags(manifest: Manifest, place: ServerPlace): readonly string[] {
  const granted = manifest.permissions;
  const folders = (list: readonly string[]) =>
    list.map((text) => expandPlaceholders(text, manifest, place));
  const heapMib = Math.max(64, Math.floor(manifest.limits.memoryBytesMax * HEAP_SHARE / MIB));
  return [
    "-q",
    "--no-prompt",
    "--cached-only",
    "--no-config",
    "--node-modules-dir=manual",
    "--no-lock",
    `--v8-flags=--max-old-space-size=${heapMib}`,
    // The folder above the link: packages find their own files by real paths, too.
    ...allow("read", [
      place.paths.deploy(manifest.name),
      ...folders(granted.read),
      ...(place.agent === undefined && manifest.oauth !== undefined ? [CREDENTIALS] : []),
    ]),
    ...allow("write", folders(granted.write)),
    ...allow("net", granted.net),
    ...allow("env", declaredVariables(manifest)),
    "--ignore-env",
    ...allow("run", folders(granted.run)),
    ...allow("sys", granted.sys),
  ];
}

/** Returns the flag for one kind; an empty list grants nothing, `*` everything of that kind. */
function allow(kind: string, values: readonly string[]): readonly string[] {
  if (values.length === 0) return [];
  return values.includes("*")
    ? [`--allow-${kind}`]
    : [`--allow-${kind}=${values.map((value) => value.replaceAll(",", ",,")).join(",")}`];
}
