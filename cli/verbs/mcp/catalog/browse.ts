/**
 * `fleetctl mcp catalog browse`: shows one entry in full, or the entries whose name or summary
 * contains a word. Read-only, local and ungated.
 *
 * @module
 */

import { sourceText } from "cli/verbs/mcp/catalog/list.ts";
import type { VerbContext } from "cli/context.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import { readCatalog } from "core/catalog/catalog.ts";
import { grantLines } from "core/catalog/dry_start.ts";
import { isSandboxed, type Manifest } from "core/catalog/manifest.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl mcp catalog browse`. */
export interface Options {
  readonly word: string;
}

/** Parses the word. */
export function parseOptions(invocation: Invocation): Result<Options> {
  return ok({ word: (invocation.args.word ?? "").toLowerCase() });
}

/** Finds and describes the entries. */
export async function run(context: VerbContext, { word }: Options): Promise<Result<VerbReport>> {
  const catalog = await readCatalog(context.ports, context.paths);
  if (!catalog.ok) return catalog;
  const all = [...catalog.value.entries.values()];
  const exact = all.filter(({ name }) => name === word);
  const found = exact.length > 0
    ? exact
    : all.filter(({ name, summary }) => `${name} ${summary}`.toLowerCase().includes(word));
  if (found.length === 0) {
    return err(refusal(
      "mcp-not-catalogued",
      `Cannot find an MCP for ${JSON.stringify(word.slice(0, 60))}: the catalog has no such entry`,
      { hints: ["fleetctl mcp catalog list"] },
    ));
  }
  return ok({
    json: { entries: found.map(entryJson) },
    blocks: [{ kind: "lines", lines: found.flatMap(entryLines) }],
    faults: catalog.value.faults.map((fault) => fault.refusal),
  });
}

function entryJson(entry: Manifest) {
  return {
    name: entry.name,
    summary: entry.summary,
    source: sourceText(entry.source),
    origin: entry.origin,
    auth: entry.auth,
    scope: entry.sharing,
    required_env: entry.requiredEnv,
    optional_env: entry.optionalEnv,
    permissions: entry.permissions,
    risk: Object.fromEntries(entry.risk),
    read_only: [...entry.readOnly].sort(),
    held_tools: entry.heldTools ?? [],
    limits: entry.limits,
  };
}

function entryLines(entry: Manifest): readonly Cell[] {
  const line = (label: string, text: string) => text === "" ? [] : [`  ${label.padEnd(12)}${text}`];
  const marked = (risk: "block" | "ask") =>
    [...entry.risk].filter(([, one]) => one === risk).map(([tool]) => tool).join(", ");
  const { memoryBytesMax, tasksMax, idleStopSeconds } = entry.limits;
  return [
    { text: `${entry.name}  ${entry.summary}`, tone: "head" },
    ...line("source", sourceText(entry.source)),
    ...line("origin", entry.origin),
    ...line("shared", entry.sharing === "shared" ? "one server for every agent" : ""),
    ...line(
      "keys",
      [...entry.requiredEnv, ...entry.optionalEnv.map((key) => `[${key}]`)].join(", "),
    ),
    ...line("sign-in", entry.oauth?.provider ?? ""),
    ...grantLines(entry.permissions).flatMap((text) => line("may", text)),
    ...(isSandboxed(entry)
      ? line(
        "note",
        `${
          entry.source.kind === "uvx" ? "Python" : "Node"
        }: confined by the sandbox around it, by nothing inside`,
      )
      : []),
    ...(entry.permissions.run.length > 0
      ? line("note", "what it starts is confined by its unit alone, not by Deno")
      : []),
    ...line("block", marked("block")),
    ...line("ask", marked("ask")),
    ...line("read-only", [...entry.readOnly].sort().join(", ")),
    ...line("held back", (entry.heldTools ?? []).join(", ")),
    ...(entry.transport === "http" ? [] : line(
      "limits",
      `${memoryBytesMax / 2 ** 20} MiB, ${tasksMax} tasks, idle stop after ${idleStopSeconds} s`,
    )),
  ];
}
