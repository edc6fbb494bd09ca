/**
 * The import graph of the tree, read from `deno info --json`, as repository-relative paths.
 * Only facts: what the laws make of it is in `tests/laws_test.ts`.
 *
 * @module
 */

/** The folder of the tree. */
export const TREE = new URL("../../", import.meta.url).pathname;

/** One import: both ends relative to the tree; `to` is `npm:<name>` or `node:<name>` for others' code. */
export interface Edge {
  readonly from: string;
  readonly to: string;
}

/** What is reached from one entry. */
export interface Graph {
  readonly files: ReadonlySet<string>;
  readonly edges: readonly Edge[];
}

/** Lists the tracked and the new, not ignored, files with one of the endings. */
export async function treeFiles(...endings: readonly string[]): Promise<readonly string[]> {
  const listed = await new Deno.Command("git", {
    args: ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
    cwd: TREE,
  }).output();
  const names = new TextDecoder().decode(listed.stdout).split("\0");
  const present = names.filter((name) => endings.some((ending) => name.endsWith(ending)));
  return present.filter((name) => {
    try {
      return Deno.statSync(TREE + name).isFile;
    } catch {
      return false;
    }
  }).sort();
}

interface InfoModule {
  readonly specifier: string;
  readonly error?: string;
  readonly dependencies?: readonly {
    readonly specifier: string;
    readonly code?: { readonly specifier?: string; readonly error?: string };
    readonly type?: { readonly specifier?: string };
  }[];
}

function relative(specifier: string, written: string): string {
  const root = new URL("../../", import.meta.url).href;
  if (specifier.startsWith(root)) return specifier.slice(root.length);
  const name = /^npm:\/?((?:@[^/@]+\/)?[^/@]+)/.exec(specifier)?.[1];
  if (name !== undefined) return `npm:${name}`;
  return specifier === "" ? `unresolved:${written}` : specifier;
}

/** Reads the graph of one entry, dynamic imports with literal names included. */
export async function readGraph(entry: string): Promise<Graph> {
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", TREE + entry],
    cwd: TREE,
    stderr: "piped",
  }).output();
  if (!output.success) {
    throw new Error(
      `Cannot read the graph of ${entry}: ${new TextDecoder().decode(output.stderr)}`,
    );
  }
  const info = JSON.parse(new TextDecoder().decode(output.stdout)) as {
    modules: readonly InfoModule[];
  };
  const files = new Set<string>();
  const edges: Edge[] = [];
  for (const module of info.modules) {
    const from = relative(module.specifier, module.specifier);
    if (!module.specifier.startsWith("file:")) continue;
    files.add(from);
    for (const dependency of module.dependencies ?? []) {
      const target = dependency.code?.specifier ?? dependency.type?.specifier ?? "";
      edges.push({ from, to: relative(target, dependency.specifier) });
    }
  }
  return { files, edges };
}

/** Joins graphs, each edge once. */
export function joinGraphs(graphs: readonly Graph[]): Graph {
  const edges = new Map<string, Edge>();
  const files = new Set<string>();
  for (const graph of graphs) {
    for (const file of graph.files) files.add(file);
    for (const edge of graph.edges) edges.set(`${edge.from} ${edge.to}`, edge);
  }
  return { files, edges: [...edges.values()] };
}
