/**
 * Notices agents that wait for the end of their turn before a new version replaces them, and runs
 * the verb that replaces them. The record of the last reconcile says who waits, so a restart of the
 * daemon or of the host forgets no one.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import { fileVersion } from "core/files/file_stat.ts";
import type { Paths } from "core/paths.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import { parseRecord, recordPath } from "units/reconcile/record.ts";
import { waitingUnits } from "units/reconcile/waiting_units.ts";

/** The verb that replaces agents until none waits. */
const VERB = ["apply", "--waiting"];
const LOOK_MS = 10_000;
/** A file that changed less than this before may change again without a new time. */
const SETTLED_MS = 2_000;

/** Dependencies of the watch. */
export interface ReplacementDeps {
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly files: Pick<Files, "readText" | "stat">;
  readonly log: Log;
  readonly paths: Paths;
  /** Runs a verb to its end; `signal` ends it early. */
  run(argv: readonly string[], signal: AbortSignal): Promise<void>;
}

/** Looks every ten seconds, until closed. */
export function followReplacements(deps: ReplacementDeps): { close(): Promise<void> } {
  const stop = new AbortController();
  const done = follow(deps, stop.signal);
  return {
    close: async () => {
      stop.abort();
      await done;
    },
  };
}

async function follow(deps: ReplacementDeps, signal: AbortSignal): Promise<void> {
  const { clock, log, run } = deps;
  const isWaitedFor = createLook(deps);
  while (!signal.aborted) {
    try {
      if (await isWaitedFor()) await run(VERB, signal);
    } catch (thrown) {
      log.error("agents not replaced", { error: errorText(thrown) });
    }
    await clock.sleep(LOOK_MS, signal);
  }
}

/** Returns a function that tells whether an agent waits. It reads the record only when it changed. */
function createLook(
  { clock, files, paths }: ReplacementDeps,
): () => Promise<boolean> {
  const path = recordPath(paths);
  let seen: string | undefined;
  let isWaiting = false;
  return async () => {
    const version = fileVersion(await files.stat(path), clock.now(), SETTLED_MS);
    if (version !== undefined && version === seen) return isWaiting;
    const record = parseRecord(await files.readText(path) ?? "");
    isWaiting = record !== undefined && waitingUnits(record, paths).length > 0;
    seen = version;
    return isWaiting;
  };
}
