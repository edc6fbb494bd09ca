/**
 * What we rendered on this host the last time, so that the next run knows what is ours: files to
 * remove when nobody wants them any more, client entries that are ours, and with which inputs each
 * unit runs. No I/O. The file is `{state}/rendered.json`, 0600; losing it loses no function, only
 * the memory of what may be removed.
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import type { ClientConfigShape } from "core/runtimes/definition.ts";

/** One rendered file and whose it is. */
export interface RecordedFile {
  readonly path: string;
  readonly agent?: string;
  readonly mcp?: string;
}

/** Names of our entries in one client config. */
export interface RecordedClient {
  readonly path: string;
  readonly agent: string;
  readonly shape: ClientConfigShape;
  readonly at: readonly string[];
  readonly names: readonly string[];
  /** Stamp of the file when it was last found to be as desired; absent after it was written. */
  readonly settled?: string;
}

/** What a unit was last given. */
export interface RecordedUnit {
  /** SHA-256 of its inputs. */
  readonly inputs: string;
  readonly softInputs: string;
  /** The process that still runs with older inputs; any other process of the unit is current. */
  readonly stale?: ProcessIdentity;
  /**
   * Of a dial unit: the client entries that the stale process has not read. Absent when nobody
   * knows which ones they are: then it may be any.
   */
  readonly unread?: readonly string[];
  /** The same for soft inputs. */
  readonly softStale?: ProcessIdentity;
  /** Its last start failed; a service that was slow may serve by now, which only asking shows. */
  readonly unready?: true;
}

/** Names one run of a unit. */
export interface ProcessIdentity {
  readonly pid: number | undefined;
  readonly since: number | undefined;
}

/** Everything that was rendered. */
export interface RenderRecord {
  readonly files: readonly RecordedFile[];
  readonly clients: readonly RecordedClient[];
  readonly units: Readonly<Record<string, RecordedUnit>>;
  /** Units of the service manager changed on disk and it was not told yet. */
  readonly isReloadDue: boolean;
}

/** The record of a host on which nothing was rendered. */
export const EMPTY_RECORD: RenderRecord = { files: [], clients: [], units: {}, isReloadDue: false };
const FORMAT = 1;

/** Returns where the record is. */
export function recordPath(paths: Paths): string {
  return `${paths.state}/rendered.json`;
}

/** Prints a record. */
export function printRecord(record: RenderRecord): string {
  return `${JSON.stringify({ format: FORMAT, ...record }, null, 1)}\n`;
}

/** Parses a record; undefined when the text is none, and the caller says so. */
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

/** Tells whether two runs of a unit are the same one. */
export function isSameRun(
  a: ProcessIdentity | undefined,
  b: ProcessIdentity | undefined,
): boolean {
  return a !== undefined && b !== undefined && a.pid === b.pid && a.since === b.since;
}

function isList(value: unknown): boolean {
  return Array.isArray(value);
}
