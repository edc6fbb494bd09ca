/**
 * The import graph of the tree, read from `deno info --json`, as repository-relative paths.
 * Only facts: what the laws make of it is in `tests/laws_test.ts`.
 *
 * @module
 */

/** The folder of the tree. */
export const TREE = new URL("../../", import.meta.url).pathname;

/**
 * One import: both ends relative to the tree; `to` is `npm:<name>` or `node:<name>`
 * for others' code.
 */
export interface Edge {
  readonly from: string;
  readonly to: string;
}

/** What is reached from some entries. */
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

/** Returns what some entries reach; `all` must hold the entries and what they import. */
export function reachedFrom(all: Graph, entries: readonly string[]): Graph {
  const next = Map.groupBy(all.edges, ({ from }) => from);
  const files = new Set<string>();
  const edges: Edge[] = [];
  const waiting = [...entries];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file) || !all.files.has(file)) continue;
    files.add(file);
    for (const edge of next.get(file) ?? []) {
      edges.push(edge);
      waiting.push(edge.to);
    }
  }
  return { files, edges };
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

/**
 * Reads what several entries reach together, dynamic imports with literal names included. One
 * program reads all of them: one for each would take longer than the rest of the laws.
 */
export async function readGraph(entries: readonly string[]): Promise<Graph> {
  const joint = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    const lines = entries.map((entry) => `import ${JSON.stringify(`file://${TREE}${entry}`)};\n`);
    await Deno.writeTextFile(joint, lines.join(""));
    return graphOf(await readModules(joint), `file://${joint}`);
  } finally {
    await Deno.remove(joint);
  }
}

async function readModules(entry: string): Promise<readonly InfoModule[]> {
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "--config", `${TREE}deno.json`, entry],
    cwd: TREE,
    stderr: "piped",
  }).output();
  const decoder = new TextDecoder();
  if (!output.success) {
    throw new Error(`Cannot read the import graph: ${decoder.decode(output.stderr)}`);
  }
  return (JSON.parse(decoder.decode(output.stdout)) as { modules: readonly InfoModule[] }).modules;
}

function graphOf(modules: readonly InfoModule[], entry: string): Graph {
  const files = new Set<string>();
  const edges = new Map<string, Edge>();
  for (const module of modules) {
    if (!module.specifier.startsWith("file:") || module.specifier === entry) continue;
    const from = relative(module.specifier, module.specifier);
    files.add(from);
    for (const dependency of module.dependencies ?? []) {
      const target = dependency.code?.specifier ?? dependency.type?.specifier ?? "";
      const to = relative(target, dependency.specifier);
      edges.set(`${from} ${to}`, { from, to });
    }
  }
  return { files, edges: [...edges.values()] };
}
