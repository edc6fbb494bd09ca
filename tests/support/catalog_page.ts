/**
 * The tables of `docs/catalog.md`, made by starting every shipped server as its unit would and
 * asking it for its tools. `./dev catalog` writes them between the marks of the page; what a
 * server says there is what it said, not what somebody remembers.
 *
 * @module
 */

import { readCatalog } from "core/catalog/catalog.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { PERMISSION_KINDS } from "core/catalog/manifest_rules.ts";
import { openHost } from "core/os/host.ts";
import { systemMcpClient } from "core/os/mcp_client.ts";
import { pathsUnder } from "core/paths.ts";
import { memoryFiles } from "tests/fakes/files.ts";
import { TREE } from "tests/support/module_graph.ts";
import { fillVendorCache } from "tests/support/prepare_vendor.ts";
import {
  PASSES_ON,
  type ShippedRoot,
  shippedRoot,
  startAlone,
} from "tests/support/shipped_server.ts";

const PAGE = `${TREE}docs/catalog.md`;
const BEGIN = (name: string) => `<!-- ${name}: written by ./dev catalog -->`;
const END = "<!-- end -->";

/** What one server said. */
interface Said {
  readonly tools: number;
  readonly bytes: number;
  readonly shown: string;
  readonly starts: string;
}

const encoder = new TextEncoder();

async function ask(manifest: Manifest, root: ShippedRoot): Promise<Said> {
  const nothing = { tools: 0, bytes: 0, shown: "–" };
  if (manifest.transport === "http") {
    return { ...nothing, starts: "runs at its vendor" };
  }
  await root.vendor(manifest.name);
  const bridge = PASSES_ON.get(manifest.name);
  if (bridge !== undefined) {
    const said = await startAlone(await root.program(manifest), bridge.says);
    const starts = bridge.says.test(said) ? "starts with a dummy key" : `no: ${said.trim()}`;
    return { ...nothing, starts: `${starts}; its tools are listed by \`${bridge.host}\` alone` };
  }
  const host = openHost({ log: { program: "catalog", level: "error" } });
  const listed = await systemMcpClient(host).listTools(manifest.name, await root.at(manifest));
  if (!listed.ok) {
    return { ...nothing, starts: `no: ${listed.error.message.split(": ").slice(1).join(": ")}` };
  }
  const all = listed.value.map(({ definition }) => definition);
  const shown = all.filter((tool) => manifest.risk.get(String(tool["name"])) !== "block");
  const sizeOf = (list: unknown) => encoder.encode(JSON.stringify(list)).length;
  return {
    tools: all.length,
    bytes: sizeOf(all),
    shown: shown.length === all.length ? "all" : `${shown.length}, ${sizeOf(shown)} bytes`,
    starts: manifest.requiredEnv.length > 0 ? "yes, with a dummy key" : "yes",
  };
}

function sourceText({ source }: Manifest): string {
  switch (source.kind) {
    case "npm":
      return `npm \`${source.package}@${source.version}\``;
    case "uvx":
      return `uvx \`${source.package}==${source.version}\``;
    case "builtin":
      return `builtin \`${source.name}\``;
    case "http":
      return `http \`${source.url}\``;
  }
}

function marks(manifest: Manifest, risk: "block" | "ask"): readonly string[] {
  return [...manifest.risk].filter(([, one]) => one === risk).map(([tool]) => tool).sort();
}

/** The first table: sources, tools, bytes, whether it starts. */
function toolTable(said: ReadonlyMap<Manifest, Said>): string {
  const rows = [...said].map(([manifest, { tools, bytes, shown, starts }]) => {
    const block = marks(manifest, "block").length;
    const asked = marks(manifest, "ask").length;
    const risk = [block > 0 ? `${block} block` : "", asked > 0 ? `${asked} ask` : ""]
      .filter((part) => part !== "").join(", ") || "none";
    const count = tools === 0 ? "–" : String(tools);
    return `| \`${manifest.name}\` | ${sourceText(manifest)} | ${count} | ${
      tools === 0 ? "–" : bytes
    } | ${shown} | ${risk} | ${starts} |`;
  });
  return [
    "| MCP | Source | Tools | Bytes | Of these shown to the model | Risk marks | Starts and lists |",
    "|---|---|---|---|---|---|---|",
    ...rows,
  ].join("\n");
}

/** The second table: credentials. */
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

/** The third table: permissions and limits. */
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

/** The fourth table: risk marks. */
function riskTable(manifests: readonly Manifest[]): string {
  const code = (list: readonly string[]) => list.map((one) => `\`${one}\``).join(", ");
  const rows = manifests.filter((one) => one.risk.size > 0).map((one) =>
    `| \`${one.name}\` | ${code(marks(one, "block"))} | ${code(marks(one, "ask"))} |`
  );
  return ["| MCP | block | ask |", "|---|---|---|", ...rows].join("\n");
}

/** Puts a table between its marks. */
function place(page: string, name: string, table: string): string {
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

async function main(): Promise<void> {
  await fillVendorCache((line) => console.error(line), "all");
  await using root = await shippedRoot();
  const manifests = await shippedManifests();
  const said = new Map<Manifest, Said>();
  for (const manifest of manifests) {
    const answer = await ask(manifest, root);
    console.error(
      `${manifest.name}: ${answer.tools} tools, ${answer.bytes} bytes, ${answer.starts}`,
    );
    said.set(manifest, answer);
  }
  const page = place(await Deno.readTextFile(PAGE), "tools", toolTable(said));
  await Deno.writeTextFile(PAGE, placeStatic(page, manifests));
}

if (import.meta.main) await main();
