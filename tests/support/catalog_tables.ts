/**
 * The tables of `docs/catalog.md` that derive from the manifests alone: keys, permissions and risk
 * marks. No server is started for them.
 *
 * @module
 */

import { readCatalog } from "core/catalog/catalog.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { PERMISSION_KINDS } from "core/catalog/manifest_rules.ts";
import { pathsUnder } from "core/paths.ts";
import { memoryFiles } from "tests/fakes/files.ts";

const BEGIN = (name: string) => `<!-- ${name}: written by ./dev catalog -->`;
const END = "<!-- end -->";

/** Returns the tools with one mark, sorted. */
export function marks(manifest: Manifest, risk: "block" | "ask"): readonly string[] {
  return [...manifest.risk].filter(([, one]) => one === risk).map(([tool]) => tool).sort();
}

/** Returns the second table: credentials. */
function keyTable(manifests: readonly Manifest[]): string {
  const code = (list: readonly string[]) => list.map((one) => `\`${one}\``).join(", ");
  const rows = manifests.filter((one) => one.auth !== "none").map((one) => {
    const where = one.auth === "oauth"
      ? `sign-in \`${one.oauth?.provider}\``
      : one.userEnv.length > 0
      ? "the agent's own shard"
      : "the shared shard";
    return `| \`${one.name}\` | ${one.auth} | ${one.sharing} | ${code(one.requiredEnv)} | ${
      code(one.optionalEnv)
    } | ${where} |`;
  });
  return [
    "| MCP | auth | scope | Required keys | Optional keys | Where the credential lives |",
    "|---|---|---|---|---|---|",
    ...rows,
  ].join("\n");
}

/** Returns the third table: permissions and limits. */
function permissionTable(manifests: readonly Manifest[]): string {
  const rows = manifests.filter((one) => one.source.kind === "npm").map((one) => {
    const cells = PERMISSION_KINDS.map((kind) =>
      one.permissions[kind].map((value) => value === "*" ? "everything" : `\`${value}\``).join(", ")
    );
    const { memoryBytesMax, tasksMax, idleStopSeconds } = one.limits;
    return `| \`${one.name}\` | ${cells.join(" | ")} | ${
      memoryBytesMax / 2 ** 20
    } MiB, ${tasksMax}, ${idleStopSeconds / 60} min |`;
  });
  return [
    `| MCP | ${PERMISSION_KINDS.join(" | ")} | Memory, tasks, idle stop |`,
    "|---|---|---|---|---|---|---|---|",
    ...rows,
  ].join("\n");
}

/** Returns the fourth table: risk marks. */
function riskTable(manifests: readonly Manifest[]): string {
  const code = (list: readonly string[]) => list.map((one) => `\`${one}\``).join(", ");
  const rows = manifests.filter((one) => one.risk.size > 0).map((one) =>
    `| \`${one.name}\` | ${code(marks(one, "block"))} | ${code(marks(one, "ask"))} |`
  );
  return ["| MCP | block | ask |", "|---|---|---|", ...rows].join("\n");
}

/** Replaces the table between the marks of `name`. */
export function place(page: string, name: string, table: string): string {
  const from = page.indexOf(BEGIN(name));
  const to = page.indexOf(END, from);
  if (from === -1 || to === -1) throw new Error(`docs/catalog.md has no marks for ${name}`);
  return `${page.slice(0, from)}${BEGIN(name)}\n\n${table}\n\n${page.slice(to)}`;
}

/** Returns the shipped entries, sorted by name. */
export async function shippedManifests(): Promise<readonly Manifest[]> {
  const catalog = await readCatalog({ files: memoryFiles() }, pathsUnder("/"));
  if (!catalog.ok) throw new Error(catalog.error.message);
  if (catalog.value.faults.length > 0) {
    throw new Error(catalog.value.faults.flatMap(({ refusal }) => refusal.details).join("\n"));
  }
  return [...catalog.value.entries.values()];
}

/** Puts the tables that need no server into the text of the page. */
export function placeStatic(page: string, manifests: readonly Manifest[]): string {
  const keys = place(page, "keys", keyTable(manifests));
  const permissions = place(keys, "permissions", permissionTable(manifests));
  return place(permissions, "risk", riskTable(manifests));
}
