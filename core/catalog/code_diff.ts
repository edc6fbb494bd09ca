/**
 * Compares the code of a package in two vendored trees: files, dependencies and new addresses.
 * Reads through `Files` only; makes no decision.
 *
 * A tool's definition does not show what its code does with the arguments. A new version that
 * quietly copies each message to another e-mail address changes no definition. But the address
 * appears in its code (docs/catalog.md#changing-the-catalog).
 *
 * @module
 */

import type { PackageSource } from "core/catalog/pin.ts";
import { isPythonLock, normalName, parsePythonLock } from "core/catalog/python_lock.ts";
import { addressesIn } from "core/catalog/tool_diff.ts";
import type { Files } from "core/ports/files.ts";

/** The difference of one package. */
export interface CodeDiff {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** E-mail addresses in the new code that the old version lacks. */
  readonly newAddresses: readonly string[];
  /**
   * Hosts in the new code that the old version lacks; the `net` permission limits actual access.
   */
  readonly newHosts: readonly string[];
  /** Powers of the new code that the old version lacks: "starts programs". */
  readonly newPowers: readonly string[];
}

/**
 * Patterns of code that reaches outside JavaScript. Deno denies each program that `run` does not
 * name, but writes no audit entry. So a try does not show it; the source text does.
 */
const POWERS: readonly (readonly [rule: RegExp, what: string])[] = [
  [/["'`](node:)?child_process["'`]|\bDeno\.Command\b/, "starts programs"],
  [/\bprocess\.dlopen\b|\bDeno\.dlopen\b/, "loads native code"],
];
/** The same for Python, where the sandbox also confines any program that the server starts. */
const PYTHON_POWERS: typeof POWERS = [
  [/\bsubprocess\b|\bos\.(system|popen|exec\w*|spawn\w*|posix_spawn\w*|fork)\b/, "starts programs"],
  [/\bimport\s+(ctypes|cffi)\b|\bfrom\s+(ctypes|cffi)\b/, "loads native code"],
];

type Reader = Pick<Files, "list" | "readText" | "stat">;

const CODE = /\.(js|mjs|cjs|ts|mts|cts|json|wasm\.js)$/;
const PYTHON_CODE = /\.(py|pyi|json|toml|yaml)$/;
const FILES_MAX = 5000;
const FILE_BYTES_MAX = 8 * 1024 * 1024;
const EMAIL = /^[\w.+-]+@[a-z0-9-]+(\.[a-z0-9-]+)+$/i;
/** Domains reserved for documentation, so that an example is no finding (RFC 2606). */
const EXAMPLE = /(^|[.@])(example\.(com|org|net)|test|invalid|localhost|example)$/i;

/** Compares the package's own files below two trees. */
export async function diffCode(
  files: Reader,
  trees: { readonly before: string; readonly after: string },
  source: Pick<PackageSource, "kind" | "package">,
): Promise<CodeDiff> {
  const before = await readOwn(files, trees.before, source);
  const after = await readOwn(files, trees.after, source);
  const powersIn = (texts: readonly string[]) =>
    (source.kind === "uvx" ? PYTHON_POWERS : POWERS)
      .flatMap(([rule, what]) => texts.some((text) => rule.test(text)) ? [what] : []);
  const known = addressesIn([...before.values()].join("\n"));
  const hostsBefore = hostsOf(known);
  const fresh = [...after].filter(([path, text]) => before.get(path) !== text);
  const found = addressesIn(fresh.map(([, text]) => text).join("\n"));
  const emails = [...found].filter((one) => EMAIL.test(one) && !EXAMPLE.test(one));
  return {
    added: [...after.keys()].filter((path) => !before.has(path)).sort(),
    changed: fresh.map(([path]) => path).filter((path) => before.has(path)).sort(),
    removed: [...before.keys()].filter((path) => !after.has(path)).sort(),
    newAddresses: emails.filter((one) => !known.has(one)).sort(),
    newPowers: powersIn(fresh.map(([, text]) => text))
      .filter((power) => !powersIn([...before.values()]).includes(power)),
    newHosts: [...hostsOf(found)].filter((host) => !hostsBefore.has(host) && !EXAMPLE.test(host))
      .sort(),
  };
}

function hostsOf(addresses: ReadonlySet<string>): ReadonlySet<string> {
  const hosts = new Set<string>();
  for (const address of addresses) {
    const host = /^(?:https?|wss?):\/\/([a-z0-9-]+(?:\.[a-z0-9-]+)+)/i.exec(address)?.[1];
    if (host !== undefined) hosts.add(host.toLowerCase());
  }
  return hosts;
}

/** Reads the package's own code in a tree. */
async function readOwn(
  files: Reader,
  tree: string,
  { kind, package: name }: Pick<PackageSource, "kind" | "package">,
): Promise<ReadonlyMap<string, string>> {
  return kind === "uvx"
    ? await readWheel(files, `${tree}/site`, name)
    : await readCode(files, `${tree}/node_modules/${name}`);
}

/** Wheels share one folder; the `RECORD` of a wheel lists its files (PEP 376). */
async function readWheel(
  files: Reader,
  packages: string,
  name: string,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const folder = (await files.list(packages)).find((one) => {
    const [, distribution = ""] = /^(.+)-[^-]+\.dist-info$/.exec(one) ?? [];
    return distribution !== "" && normalName(distribution) === normalName(name);
  });
  const record = await files.readText(`${packages}/${folder}/RECORD`) ?? "";
  for (const line of record.split("\n", FILES_MAX)) {
    const path = line.replace(/^"(.*?)".*$/, "$1").replace(/,[^,]*,[^,]*$/, "");
    if (!PYTHON_CODE.test(path) || path.startsWith("/") || path.split("/").includes("..")) continue;
    const stat = await files.stat(`${packages}/${path}`);
    if (stat?.kind !== "file" || stat.size > FILE_BYTES_MAX) continue;
    found.set(path, await files.readText(`${packages}/${path}`) ?? "");
  }
  return found;
}

async function readCode(files: Reader, root: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const folders = [""];
  while (folders.length > 0 && found.size < FILES_MAX) {
    const folder = folders.pop() ?? "";
    for (const name of await files.list(`${root}${folder}`)) {
      const path = `${folder}/${name}`;
      const stat = await files.stat(`${root}${path}`);
      if (stat?.kind === "directory" && name !== "node_modules") folders.push(path);
      const isCode = stat?.kind === "file" && CODE.test(name) && stat.size <= FILE_BYTES_MAX;
      if (isCode) found.set(path.slice(1), await files.readText(`${root}${path}`) ?? "");
    }
  }
  return found;
}

/** Returns the packages, `name@version`, that `after` has and `before` lacks. */
export function newPackages(before: string, after: string): readonly string[] {
  const names = (text: string) => {
    if (isPythonLock(text)) {
      return new Set(
        (parsePythonLock(text) ?? []).map((one) => `${normalName(one.package)}@${one.version}`),
      );
    }
    const value = JSON.parse(text) as { npm?: Readonly<Record<string, unknown>> };
    return new Set(Object.keys(value.npm ?? {}).map(withoutPeers));
  };
  const known = names(before);
  return [...names(after)].filter((name) => !known.has(name)).sort();
}

/** Returns a locked name without its peers: `server@1.0.0_zod@4.6.7` → `server@1.0.0`. */
function withoutPeers(name: string): string {
  return /^(@?[^@]+@[^_]+)/.exec(name)?.[1] ?? name;
}
