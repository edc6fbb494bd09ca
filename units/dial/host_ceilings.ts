/**
 * The spend ceilings of the host, which root sums up over all agents and publishes in a file. Every
 * dial unit obeys that file. Sums that are missing or old for a while stop the agent.
 *
 * @module
 */

import {
  areSumsOld,
  type HostCeilings as Sums,
  parseHostCeilings,
  stoppingHostCeiling,
} from "core/dial/host_ceilings.ts";
import { errorText, type Refusal } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import { hostReached, hostUnchecked } from "units/dial/ceiling_words.ts";

/** Compares the host's ceilings. */
export interface HostCeilings {
  /** Returns why the agent may not spend. Waits for new sums first, if they are old. */
  check(signal: AbortSignal): Promise<Refusal | undefined>;
  /** As `check`, without the wait. */
  look(): Promise<Refusal | undefined>;
}

/** How long old sums are waited for: after a boot, root takes them within this time. */
const WAIT_SECONDS = 60;

/** Opens the published file at `path`; without that file, the host has no ceiling. */
export function openHostCeilings(
  { files, clock, path }: {
    readonly files: Pick<Files, "readText">;
    readonly clock: Pick<Clock, "now" | "sleep">;
    readonly path: string;
  },
): HostCeilings {
  async function read(): Promise<Sums | undefined | Refusal> {
    try {
      const text = await files.readText(path);
      if (text === undefined) return undefined;
      return parseHostCeilings(text) ?? hostUnchecked(`"${path}" is damaged`);
    } catch (thrown) {
      return hostUnchecked(errorText(thrown));
    }
  }

  async function look(): Promise<{ readonly stop?: Refusal; readonly mayChange: boolean }> {
    const found = await read();
    if (found === undefined) return { mayChange: false };
    if ("code" in found) return { stop: found, mayChange: true };
    const now = clock.now();
    if (areSumsOld(found, now)) {
      const at = new Date(found.summed_at).toISOString().slice(0, 16).replace("T", " ");
      return { stop: hostUnchecked(`the last sums are of ${at} UTC`), mayChange: true };
    }
    const stopping = stoppingHostCeiling(found, now);
    return stopping === undefined
      ? { mayChange: false }
      : { stop: hostReached(stopping), mayChange: false };
  }

  return {
    look: async () => (await look()).stop,
    async check(signal) {
      for (let waited = 0;; waited++) {
        const { stop, mayChange } = await look();
        if (!mayChange || waited >= WAIT_SECONDS || signal.aborted) return stop;
        await clock.sleep(1_000, signal);
      }
    },
  };
}
