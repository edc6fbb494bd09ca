/**
 * The record of the last run on this host. It tells the next run what fleetctl owns: files to
 * remove when they are no longer wanted, its client entries, and the inputs that each unit runs
 * with. No I/O. The file is `{state}/rendered.json`, 0600. If it is lost, everything still works,
 * but obsolete files are no longer known.
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import type { ClientConfigShape } from "core/runtimes/definition.ts";
import type { Origin } from "units/reconcile/replacement.ts";

/** One rendered file and its owner. */
export interface RecordedFile {
  readonly path: string;
  readonly agent?: string;
  readonly mcp?: string;
}

/** Names of fleetctl's entries in one client config. */
export interface RecordedClient {
  readonly path: string;
  readonly agent: string;
  readonly shape: ClientConfigShape;
  readonly at: readonly string[];
  readonly names: readonly string[];
  /** Stamp of the file when it last matched the desired content; absent after a write. */
  readonly settled?: string;
}

/** The state last given to a unit. */
export interface RecordedUnit {
  /** SHA-256 of its inputs. */
  readonly inputs: string;
  readonly softInputs: string;
  /** For a dial unit: what `inputs` came from. */
  readonly origin?: Origin;
  /** The process that still runs with older inputs; any other process of the unit is current. */
  readonly stale?: ProcessIdentity;
  /** What the stale process was started with; absent when it is unknown. */
  readonly ran?: Origin;
  /** Since when the stale process waits for the end of a turn, in milliseconds since the epoch. */
  readonly waitsSince?: number;
  /**
   * For a dial unit: client entries that the stale process has not read. Absent when they are
   * unknown; then it may be any entry.
   */
  readonly unread?: readonly string[];
  /** The same for soft inputs. */
  readonly softStale?: ProcessIdentity;
  /** Its last start failed. A slow service may be ready meanwhile, which only a new check shows. */
  readonly unready?: true;
}

/** Identifies one run of a unit. */
export interface ProcessIdentity {
  readonly pid: number | undefined;
  readonly since: number | undefined;
}

/** Everything that the last run rendered. */
export interface RenderRecord {
  readonly files: readonly RecordedFile[];
  readonly clients: readonly RecordedClient[];
  readonly units: Readonly<Record<string, RecordedUnit>>;
  /** Unit files have changed and the service manager has not reloaded yet. */
  readonly isReloadDue: boolean;
}

/** The record of a host without rendered files. */
export const EMPTY_RECORD: RenderRecord = { files: [], clients: [], units: {}, isReloadDue: false };
const FORMAT = 1;

/** Returns the path of the record. */
export function recordPath(paths: Paths): string {
  return `${paths.state}/rendered.json`;
}

/** Prints a record. */
export function printRecord(record: RenderRecord): string {
  return `${JSON.stringify({ format: FORMAT, ...record }, null, 1)}\n`;
}

/** Parses a record; undefined when the text is not a valid one, which the caller reports. */
export function parseRecord(text: string): RenderRecord | undefined {
  try {
    const value = JSON.parse(text) as Partial<RenderRecord> & { readonly format?: number };
    const isRecord = value.format === FORMAT && isList(value.files) && isList(value.clients) &&
      typeof value.units === "object" && value.units !== null;
    if (!isRecord) return undefined;
    return {
      files: (value.files ?? []).filter((file) => typeof file.path === "string"),
      clients: (value.clients ?? []).filter((client) =>
        typeof client.path === "string" && isList(client.names) && isList(client.at)
      ),
      units: value.units ?? {},
      isReloadDue: value.isReloadDue === true,
    };
  } catch {
    return undefined;
  }
}

/** Returns whether two identities belong to the same run of a unit. */
export function isSameRun(
  a: ProcessIdentity | undefined,
  b: ProcessIdentity | undefined,
): boolean {
  return a !== undefined && b !== undefined && a.pid === b.pid && a.since === b.since;
}

function isList(value: unknown): boolean {
  return Array.isArray(value);
}
