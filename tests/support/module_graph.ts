/**
 * The import graph of the tree, read from `deno info --json`, with paths relative to the
 * repository. It only collects facts; `tests/laws_test.ts` judges them.
 *
 * @module
 */

/** The folder of the tree. */
export const TREE = new URL("../../", import.meta.url).pathname;

/**
 * One import. Both ends are relative to the tree; for third-party code, `to` is `npm:<name>` or
 * `node:<name>`.
 */
export interface Edge {
  readonly from: string;
  readonly to: string;
}

/** The modules and imports that some entries reach. */
export interface Graph {
  readonly files: ReadonlySet<string>;
  readonly edges: readonly Edge[];
}

/** Lists the tracked files and the new files that git does not ignore, with one of the endings. */
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

/** Returns what some entries reach. `all` must contain the entries and their imports. */
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
 * Reads what several entries reach together, including dynamic imports with literal names. One
 * program reads all entries; one program per entry would take longer than all other laws.
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
