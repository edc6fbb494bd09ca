/**
 * `fleetctl mcp catalog list`: the catalog. Read-only, local and ungated. A broken entry is listed
 * as broken and hides no other one.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import { readCatalog } from "core/catalog/catalog.ts";
import type { Manifest, Source } from "core/catalog/manifest.ts";
import { ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** `fleetctl mcp catalog list` has no options. */
export type Options = Readonly<Record<never, never>>;

/** Returns no options: there are none. */
export function parseOptions(_invocation: Invocation): Result<Options> {
  return ok({});
}

/** Reads the catalog. */
export async function run(context: VerbContext, _options: Options): Promise<Result<VerbReport>> {
  const catalog = await readCatalog(context.ports, context.paths);
  if (!catalog.ok) return catalog;
  const entries = [...catalog.value.entries.values()];
  return ok({
    json: {
      entries: entries.map(entryJson),
      faults: catalog.value.faults.map(({ name, file, refusal }) => ({
        name,
        file,
        code: refusal.code,
        message: refusal.message,
      })),
    },
    blocks: [{
      kind: "table",
      columns: ["name", "version", "credential", "sharing", "origin", "summary"],
      rows: entries.map(entryCells),
      empty: "The catalog is empty",
    }],
    faults: catalog.value.faults.map((fault) => fault.refusal),
  });
}

function entryJson(entry: Manifest) {
  return {
    name: entry.name,
    summary: entry.summary,
    source: sourceText(entry.source),
    auth: entry.auth,
    required_env: entry.requiredEnv,
    user_env: entry.userEnv,
    optional_env: entry.optionalEnv,
    scope: entry.sharing,
    transport: entry.transport,
    exposure: entry.exposure,
    origin: entry.origin,
    held_tools: entry.heldTools ?? [],
  };
}

function entryCells(entry: Manifest): readonly Cell[] {
  return [
    entry.name,
    "version" in entry.source ? entry.source.version : entry.source.kind,
    entry.auth === "none" && entry.requiredEnv.length === 0
      ? { text: "none", tone: "good" }
      : entry.auth === "oauth"
      ? "oauth"
      : entry.requiredEnv.join(", ") || entry.auth,
    entry.sharing,
    entry.heldTools === undefined
      ? entry.origin
      : { text: `${entry.origin}, review waits`, tone: "warn" },
    entry.summary,
  ];
}

/** Returns a source in the form of the manifest: `npm: pkg@ver`. */
export function sourceText(source: Source): string {
  switch (source.kind) {
    case "npm":
      return `npm: ${source.package}@${source.version}`;
    case "uvx":
      return `uvx: ${source.package}==${source.version}`;
    case "builtin":
      return `builtin: ${source.name}`;
    case "http":
      return `http: ${source.url}`;
  }
}
