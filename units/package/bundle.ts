/**
 * Bundles a program: `<lib>/<name>.js`, which loads `<lib>/programs/<name>/main.js` and its chunks.
 * Code is split, so that a start reads only what it needs. A bundle that would read a file outside
 * itself at run time is refused, because `deno bundle` omits `.wasm` files and native addons. ADR
 * 0009 explains why fleetctl uses bundles.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { byteLength } from "core/text/cut_text.ts";
import { type BuildContext, runStep } from "units/package/build_context.ts";

/** A program, with the fields that bundling needs. */
export interface Bundled {
  readonly name: string;
  readonly entry: string;
}

/** Result of bundling one program. */
export interface Bundle {
  readonly name: string;
  readonly files: number;
  readonly bytes: number;
  /** Folders of the bundled packages, relative to the tree. */
  readonly packages: readonly string[];
}

/** Optional packages of `ws`: it works without them. */
const OPTIONAL = new Set(["bufferutil", "utf-8-validate"]);
/** A reference in a string to a file that bundling omits. */
const LEFT_OUT = /["'`]([^"'`\n]*\.(?:wasm|node))["'`]/g;
const REQUIRED = /\b__require\(["']([^"']+)["']\)/g;
/** An import whose name is known only at run time. */
const COMPUTED_IMPORT = /(?<![\w.$])import\((?!\s*["'])[^)\n]{1,80}/g;

/** Bundles one program into `lib`. */
export async function bundleProgram(
  context: BuildContext,
  program: Bundled,
  lib: string,
): Promise<Result<Bundle>> {
  const folder = `${lib}/programs/${program.name}`;
  await context.files.remove(folder, { recursive: true });
  const made = await runStep(context, `bundle "${program.name}"`, [
    context.deno,
    "bundle",
    "-q",
    "--platform=deno",
    "--code-splitting",
    `--outdir=${folder}`,
    program.entry,
  ]);
  if (!made.ok) return made;
  const texts = new Map<string, string>();
  for (const name of await context.files.list(folder)) {
    const text = await context.files.readText(`${folder}/${name}`) ?? "";
    texts.set(name, withOneByteText(withLightRequire(text)));
    if (texts.get(name) !== text) {
      await context.files.write(`${folder}/${name}`, texts.get(name) ?? "");
    }
  }
  const graph = await runStep(context, `read the bundle of "${program.name}"`, [
    context.deno,
    "info",
    "--json",
    "--no-config",
    "--no-npm",
    "--no-remote",
    `${folder}/main.js`,
  ]);
  if (!graph.ok) return graph;
  const faults = [...bundleFaults(texts), ...graphFaults(graph.value, folder)];
  if (faults.length > 0) {
    return err(refusal(
      "bundle-incomplete",
      `Cannot ship the bundle of "${program.name}": it needs ${faults.length} items outside ` +
        "the bundle",
      { details: faults },
    ));
  }
  const front = frontText(program.name, await hashOf(texts));
  await context.files.write(`${lib}/${program.name}.js`, front);
  const sizes = [...texts.values(), front].map((text) => byteLength(text));
  return ok({
    name: program.name,
    files: sizes.length,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    packages: packagesIn(texts),
  });
}

/** The bundler's prologue of a bundle whose packages use `require`. */
const HEAVY_REQUIRE = `import { createRequire as __deno_internal_createRequire } from "node:module";
var __require = __deno_internal_createRequire(import.meta.url);
`;
const LIGHT_REQUIRE = `var __require = (name) => {
  const module = globalThis.process.getBuiltinModule(name);
  if (module) return module;
  throw Object.assign(new Error(\`Cannot find module "\${name}"\`), { code: "MODULE_NOT_FOUND" });
};
`;

/**
 * Replaces the bundler's `require` with one that loads Node's modules on demand: the original
 * doubles the time of `fleetctl --help`. Bundles require only built-in modules (`bundleFaults`), so
 * nothing is lost.
 */
export function withLightRequire(text: string): string {
  return text.replace(HEAVY_REQUIRE, LIGHT_REQUIRE);
}

/**
 * Escapes characters beyond Latin-1. A single one makes V8 keep the whole file with two bytes a
 * character. The bundler escapes those in strings, so these are in comments.
 */
export function withOneByteText(text: string): string {
  return text.replace(
    /[^\0-\xff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Returns what the text of a bundle would read outside itself. */
export function bundleFaults(texts: ReadonlyMap<string, string>): readonly string[] {
  const faults: string[] = [];
  for (const [file, text] of texts) {
    for (const [, left] of text.matchAll(LEFT_OUT)) faults.push(`${file}: omitted: ${left}`);
    if (text.includes("__deno_internal_createRequire")) {
      faults.push(`${file}: the bundler's require is not the known one`);
    }
    for (const [, name = ""] of text.matchAll(REQUIRED)) {
      if (!name.startsWith("node:") && !OPTIONAL.has(name)) {
        faults.push(`${file}: requires ${name}`);
      }
    }
    for (const [found] of text.matchAll(COMPUTED_IMPORT)) {
      faults.push(`${file}: a computed import: ${found}`);
    }
  }
  return [...new Set(faults)];
}

/** The bundler names each file above its text: `// <cache>/npm/<registry>/<name>/<version>/…`. */
const PACKAGE_FILE = /^\/\/ (\S*?npm\/[^/\s]+\/(?:@[^/\s]+\/)?[^/\s]+\/\d[^/\s]*)\//gm;

function packagesIn(texts: ReadonlyMap<string, string>): readonly string[] {
  const found = [...texts.values()].flatMap((text) =>
    [...text.matchAll(PACKAGE_FILE)].map(([, folder = ""]) => folder)
  );
  return [...new Set(found)].sort();
}

interface ModuleInfo {
  readonly specifier: string;
  readonly error?: string;
  readonly dependencies?: readonly { readonly specifier: string }[];
}

/** Returns the imports of a bundle that are neither its own files nor built into Deno. */
export function graphFaults(infoJson: string, folder: string): readonly string[] {
  const { modules } = JSON.parse(infoJson) as { readonly modules: readonly ModuleInfo[] };
  const own = `file://${folder.split("/").map(encodeURIComponent).join("/")}/`;
  const faults = modules.flatMap((module) => [
    ...(module.error === undefined ? [] : [`${module.specifier}: ${module.error}`]),
    ...(module.specifier.startsWith(own) || module.specifier.startsWith("node:")
      ? []
      : [`loads ${module.specifier}`]),
    ...(module.dependencies ?? []).filter(({ specifier }) => !/^(node:|\.\/)/.test(specifier))
      .map(({ specifier }) => `imports ${specifier}`),
  ]);
  return [...new Set(faults)];
}

/**
 * The hash identifies the bundle's content: a changed chunk changes it, which restarts its units.
 */
function frontText(name: string, hash: string): string {
  return `// ${name}, sha256 ${hash}\nimport "./programs/${name}/main.js";\n`;
}

async function hashOf(texts: ReadonlyMap<string, string>): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify([...texts]));
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}
