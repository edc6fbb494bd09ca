/**
 * `fleetctl gc [--events D] [--logs D] [--trees D] [--dry-run]`: deletes what is no longer needed:
 * old events and turns of the gateway, trees of MCPs that no agent has, rotated logs, and logs of
 * removed units.
 * Anything in use is kept regardless of its age, and so is anything whose use is unknown.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { type ExpiredEvents, expireEvents } from "cli/gc/events.ts";
import {
  type Expired,
  expiredLogs,
  expiredTrees,
  type Found,
  type McpTrees,
} from "cli/gc/retention.ts";
import type { Gathered } from "cli/facts.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import { readFacts, underVerbLock } from "cli/planner.ts";
import { keepReserve } from "cli/reserve.ts";
import { parseTreeRecord } from "core/catalog/vendored_tree.ts";
import { parseDuration } from "core/text/duration.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { HOUR_MS } from "core/text/duration.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl gc`; spans are milliseconds. */
export interface Options {
  readonly eventsMs: number;
  readonly logsMs: number;
  readonly treesMs: number;
  readonly isDryRun: boolean;
}

/** Default retention. */
const RETENTION = { events: "365d", logs: "30d", trees: "30d" } as const;
/** A shorter span would delete what people still look at. */
const SPAN_MS_MIN = HOUR_MS;

/** Parses the spans. */
export function parseOptions({ options, switches }: Invocation): Result<Options> {
  const spans: Record<keyof typeof RETENTION, number> = { events: 0, logs: 0, trees: 0 };
  for (const name of ["events", "logs", "trees"] as const) {
    const span = parseDuration(options[name] ?? RETENTION[name]);
    if (!span.ok) return err({ ...span.error, kind: "usage" });
    if (span.value < SPAN_MS_MIN) {
      return err(refusal("retention-too-short", `Cannot use --${name}: it must be at least "1h"`, {
        kind: "usage",
        hints: [`fleetctl gc --${name} ${RETENTION[name]} --dry-run`],
      }));
    }
    spans[name] = span.value;
  }
  return ok({
    eventsMs: spans.events,
    logsMs: spans.logs,
    treesMs: spans.trees,
    isDryRun: switches.has("dry-run"),
  });
}

/** Finds, decides and deletes. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  return await underVerbLock(context, async () => {
    const gathered = await readFacts(context);
    if (!gathered.ok) return gathered;
    const { ports, paths } = context;
    const now = ports.clock.now();
    const expired = [
      ...expiredTrees(await findTrees(context), {
        wired: wiredHere(gathered.value),
        catalogued: new Set(gathered.value.catalog.entries.keys()),
        beforeMs: now - options.treesMs,
      }),
      ...expiredLogs(
        await listFolder(context, paths.logs),
        await renderedUnits(context),
        now - options.logsMs,
      ),
    ];
    const events = await expireEvents(ports, `${paths.role("gateway")}/gateway.db`, {
      beforeMs: now - options.eventsMs,
      nowMs: now,
      isDryRun: options.isDryRun,
    });
    if (!options.isDryRun) {
      for (const each of expired) await ports.files.remove(each.path, { recursive: true });
    }
    const bytes = expired.reduce((sum, each) => sum + each.bytes, events.bytes);
    const unreserved = options.isDryRun ? undefined : await keepReserve(ports, paths);
    const note = events.note;
    return ok({
      json: {
        dry_run: options.isDryRun,
        removed: expired,
        events: { count: events.count, bytes: events.bytes },
        turns: { count: events.turns },
        bytes,
      },
      blocks: [{ kind: "lines", lines: linesOf(expired, events, { bytes, options }) }],
      warnings: [
        ...(note === undefined ? [] : [
          refusal("events-all-old", `No event was deleted: ${note}`, { hints: ["timedatectl"] }),
        ]),
        ...(unreserved === undefined ? [] : [unreserved]),
      ],
      // An unreadable ledger protects everything it may refer to. The rest is done.
      faults: gathered.value.faults,
    });
  });
}

function linesOf(
  expired: readonly Expired[],
  { count, turns }: ExpiredEvents,
  of: { readonly bytes: number; readonly options: Options },
): readonly Cell[] {
  const verb = of.options.isDryRun ? "would remove" : "removed";
  const lines = expired.map((each): Cell => `${verb}  ${each.path} (${each.reason})`);
  if (count > 0) lines.push(`${verb}  ${count} events of the gateway`);
  if (turns > 0) lines.push(`${verb}  ${turns} turns of the gateway, whose events are deleted`);
  if (lines.length === 0) return [{ text: "nothing is old enough to delete", tone: "good" }];
  const mib = (of.bytes / 1024 / 1024).toFixed(1);
  return [...lines, `${mib} MiB ${of.options.isDryRun ? "would be" : "are"} free for other use`];
}

/**
 * Returns the MCPs that an agent has, those that are held, and those that an unreadable file may
 * name.
 */
function wiredHere({ facts }: Gathered): ReadonlySet<string> {
  // An unreadable shard may wire any MCP.
  const isBlind = (facts.held?.agents ?? []).length > 0;
  const all = isBlind ? [...facts.catalog.keys()] : [];
  return new Set([...[...facts.wired.values()].flat(), ...facts.held?.mcps ?? [], ...all]);
}

async function listFolder({ ports }: VerbContext, folder: string): Promise<readonly Found[]> {
  const found: Found[] = [];
  for (const name of await ports.files.list(folder)) {
    const path = `${folder}/${name}`;
    const stat = await ports.files.stat(path);
    if (stat !== undefined) found.push({ name, path, stat });
  }
  return found;
}

async function renderedUnits(context: VerbContext): Promise<ReadonlySet<string>> {
  return new Set(await context.ports.files.list(context.paths.units));
}

async function findTrees(context: VerbContext): Promise<readonly McpTrees[]> {
  const { ports: { files }, paths } = context;
  const trees: McpTrees[] = [];
  for (const folder of await listFolder(context, paths.deployDir)) {
    if (folder.stat.kind !== "directory") continue;
    const inside = await listFolder(context, folder.path);
    let bytes = 0;
    for (const { name, path } of inside) {
      if (!name.endsWith(".json")) continue;
      bytes += parseTreeRecord(await files.readText(path) ?? "")?.bytes ?? 0;
    }
    const cachePath = `${paths.vendorCache}/${folder.name}`;
    const hasCache = await files.stat(cachePath) !== undefined;
    trees.push({
      mcp: folder.name,
      folder,
      usedMs: Math.max(folder.stat.mtimeMs, ...inside.map(({ stat }) => stat.mtimeMs)),
      bytes,
      cache: hasCache ? { path: cachePath, bytes: 0 } : undefined,
    });
  }
  return trees;
}
