/**
 * The tables of `docs/catalog.md`, built from real servers: each shipped server is started as its
 * unit would start it and lists its tools. `./dev catalog` writes the tables between the marks of
 * the page. `./dev catalog <name> …` queries only these servers and keeps the rows of the others.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import { openHost } from "core/os/host.ts";
import { systemMcpClient } from "cli/os/mcp_client.ts";
import { marks, place, placeStatic, shippedManifests } from "tests/support/catalog_tables.ts";
import { TREE } from "tests/support/module_graph.ts";
import { fillVendorCache } from "tests/support/prepare_vendor.ts";
import {
  PASSES_ON,
  type ShippedRoot,
  shippedRoot,
  startAlone,
} from "tests/support/shipped_server.ts";

const PAGE = `${TREE}docs/catalog.md`;

/** What one server reported. */
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
    const output = await startAlone(await root.program(manifest), bridge.says);
    const starts = bridge.says.test(output) ? "starts with a dummy key" : `no: ${output.trim()}`;
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

/** Returns a row of the first table: source, tools, bytes, whether it starts. */
function toolRow(manifest: Manifest, { tools, bytes, shown, starts }: Said): string {
  const block = marks(manifest, "block").length;
  const asked = marks(manifest, "ask").length;
  const risk = [block > 0 ? `${block} block` : "", asked > 0 ? `${asked} ask` : ""]
    .filter((part) => part !== "").join(", ") || "none";
  const count = tools === 0 ? "–" : String(tools);
  return `| \`${manifest.name}\` | ${sourceText(manifest)} | ${count} | ${
    tools === 0 ? "–" : bytes
  } | ${shown} | ${risk} | ${starts} |`;
}

function toolTable(rows: readonly string[]): string {
  return [
    "| MCP | Source | Tools | Bytes | Of these shown to the model | Risk marks | Starts and " +
    "lists |",
    "|---|---|---|---|---|---|---|",
    ...rows,
  ].join("\n");
}

async function main(names: readonly string[]): Promise<void> {
  const manifests = await shippedManifests();
  const unknown = names.filter((name) => manifests.every((one) => one.name !== name));
  if (unknown.length > 0) throw new Error(`not in the shipped catalog: ${unknown.join(", ")}`);
  await fillVendorCache((line) => console.error(line), names.length === 0 ? "all" : names);
  await using root = await shippedRoot();
  const before = await Deno.readTextFile(PAGE);
  const table = before.split("<!-- end -->", 1)[0]?.split("\n") ?? [];
  const rows: string[] = [];
  for (const manifest of manifests) {
    const { name } = manifest;
    const kept = table.find((line) => line.startsWith(`| \`${name}\` |`));
    if (kept !== undefined && names.length > 0 && !names.includes(name)) {
      rows.push(kept);
      continue;
    }
    const answer = await ask(manifest, root);
    console.error(`${name}: ${answer.tools} tools, ${answer.bytes} bytes, ${answer.starts}`);
    rows.push(toolRow(manifest, answer));
  }
  await Deno.writeTextFile(PAGE, placeStatic(place(before, "tools", toolTable(rows)), manifests));
}

if (import.meta.main) await main(Deno.args);
