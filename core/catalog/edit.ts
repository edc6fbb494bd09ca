/**
 * Builds and edits the text of a catalog entry: a new entry, a new pin, more permissions. Comments
 * and order of a hand-edited manifest are preserved. Every result is parsed before use. No I/O.
 *
 * @module
 */

import type { ServerPermissions, Source } from "core/catalog/manifest.ts";
import { PERMISSION_KINDS } from "core/catalog/manifest_rules.ts";
import { printPin } from "core/catalog/pin.ts";
import { isPortableLock, isPythonLock } from "core/catalog/python_lock.ts";
import type { ResolvedPin } from "core/catalog/resolved_pin.ts";
import { defined } from "core/defined.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { editYaml, printYaml } from "core/text/yaml.ts";

/** Permissions to add, by kind. */
export type Grants = Partial<Record<keyof ServerPermissions, readonly string[]>>;

/** Contents of a new entry. */
export interface NewEntry {
  readonly name: string;
  readonly summary: string;
  /** An http entry has a URL and nothing to install. */
  readonly source:
    | ResolvedPin
    | { readonly url: string; readonly headers?: Readonly<Record<string, string>> };
  /** Server file of an npm entry, relative to its tree. */
  readonly command?: string;
  readonly args?: readonly string[];
  readonly requiredEnv?: readonly string[];
  readonly optionalEnv?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly permissions: Grants;
  readonly scope?: "shared";
  /** The engine of an npm entry; Deno when absent. */
  readonly engine?: "node";
}

const SUMMARY_LENGTH_MAX = 200;
/** The host program that a Python server needs. */
const PYTHON_PROGRAM = { any_of: ["python3"], install: "apt-get install python3" };

const ENGINE_REASON = "An operator chose Node when the entry was added";

/** Prints a new manifest. */
export function newManifest(entry: NewEntry): string {
  const { source, requiredEnv = [], optionalEnv = [], environment = {}, args = [] } = entry;
  const isPackage = "pin" in source;
  const headers = "url" in source ? source.headers ?? {} : {};
  const keys = [...requiredEnv, ...optionalEnv];
  const granted = PERMISSION_KINDS.filter((kind) => (entry.permissions[kind] ?? []).length > 0);
  return printYaml({
    name: entry.name,
    summary: oneLine(entry.summary) || `Server ${entry.name}`,
    source: isPackage ? { [source.kind]: pinText(source) } : { http: source.url },
    ...(isPackage ? { integrity: integrityOf(source) } : {}),
    ...defined({ command: entry.command }),
    ...(args.length === 0 ? {} : { args }),
    ...(entry.engine === undefined ? {} : { engine: entry.engine, engine_reason: ENGINE_REASON }),
    auth: keys.length === 0 ? "none" : "env",
    scope: entry.scope ?? "per_user",
    ...(requiredEnv.length === 0 ? {} : { required_env: requiredEnv }),
    // A copy: the printer would write a second reference to the same list as an alias.
    ...(requiredEnv.length === 0 || entry.scope === "shared" ? {} : { user_env: [...requiredEnv] }),
    ...(optionalEnv.length === 0 ? {} : { optional_env: optionalEnv }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(Object.keys(environment).length === 0 ? {} : { environment }),
    ...(granted.length === 0 || !isPackage ? {} : {
      permissions: Object.fromEntries(granted.map((kind) => [kind, entry.permissions[kind]])),
    }),
    ...(isPackage && source.kind === "uvx" ? { host_programs: [PYTHON_PROGRAM] } : {}),
  });
}

function pinText({ kind, pin }: ResolvedPin): string {
  return printPin({ kind, ...pin });
}

function integrityOf({ integrity, lockIntegrity }: ResolvedPin) {
  return { ...defined({ package: integrity }), lock: lockIntegrity };
}

/** Replaces the pin of a manifest; drops the tree hash, which belongs to the old version. */
export function movePin(text: string, resolved: ResolvedPin, file: string): Result<string> {
  return editYaml(text, (editor) => {
    editor.set(["source", resolved.kind], pinText(resolved));
    if (resolved.integrity === undefined) editor.remove(["integrity", "package"]);
    else editor.set(["integrity", "package"], resolved.integrity);
    editor.set(["integrity", "lock"], resolved.lockIntegrity);
    editor.remove(["integrity", "tree"]);
  }, file);
}

/**
 * Pins the hash of the installed tree, so that every host detects a tampered cache. If the lock has
 * packages for one kind of machine only, trees differ between hosts; then nothing is pinned and
 * each host trusts its first tree.
 */
export function pinTree(text: string, lock: string, treeHash: string): Result<string> {
  const isPortable = isPythonLock(lock) ? isPortableLock(lock) : !/"(os|cpu|libc)": /.test(lock);
  if (!isPortable) return ok(text);
  return editYaml(text, (editor) => editor.set(["integrity", "tree"], treeHash), "mcp.yaml");
}

/** Adds permissions to a manifest; existing ones keep their order. */
export function addGrants(text: string, grants: Grants, file: string): Result<string> {
  return editYaml(text, (editor) => {
    for (const kind of PERMISSION_KINDS) {
      for (const value of grants[kind] ?? []) editor.addToList(["permissions", kind], value);
    }
  }, file);
}

/** Parses values of `--grant`, such as `net=host:443`. */
export function parseGrants(texts: readonly string[]): Result<Grants> {
  const grants: Partial<Record<keyof ServerPermissions, string[]>> = {};
  for (const text of texts) {
    const [kind = "", ...rest] = text.split("=");
    const known = PERMISSION_KINDS.find((one) => one === kind);
    const value = rest.join("=");
    if (known === undefined || value === "") {
      return err(refusal(
        "grant-invalid",
        `Cannot grant ${JSON.stringify(text.slice(0, 120))}: it is not a permission, must have ` +
          `the form kind=value with one of ${PERMISSION_KINDS.join(", ")}`,
        { kind: "usage" },
      ));
    }
    (grants[known] ??= []).push(value);
  }
  return ok(grants);
}

/**
 * Chooses the server's file: the wanted program, else the only one, else the package's namesake.
 */
export function chooseProgram(resolved: ResolvedPin, wanted?: string): Result<string> {
  const { programs, pin } = resolved;
  const names = Object.keys(programs);
  const own = pin.package.split("/").at(-1) ?? "";
  const name = wanted ?? (names.length === 1 ? names[0] : own);
  const file = programs[name ?? ""];
  if (file !== undefined) return ok(file);
  return err(refusal(
    "program-unclear",
    names.length === 0
      ? `Cannot add "${pin.package}": it declares no program to start`
      : `Cannot add "${pin.package}": it has the programs ${names.join(", ")}, one must be named`,
    {
      kind: "usage",
      hints: names.slice(0, 3).map((one) =>
        `fleetctl mcp catalog add <mcp> --${resolved.kind} ${pinText(resolved)} --program ${one}`
      ),
    },
  ));
}

/** Returns the version that a source pins, or its kind. */
export function versionOf(source: Source): string {
  return "version" in source ? source.version : source.kind;
}

function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, " ").replace(/\s+/g, " ").trim().slice(0, SUMMARY_LENGTH_MAX);
}
