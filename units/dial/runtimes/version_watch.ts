/**
 * The version that a runtime reports, compared with those that are tested. Another version runs
 * nevertheless: the log gets a warning, and the next turn a notice, once for each new version.
 *
 * @module
 */

import type { Log } from "core/ports/log.ts";
import { notice } from "units/dial/runtimes/message.ts";

const VERSION_LENGTH_MAX = 100;

/** Watches the version of one agent's runtime across its starts. */
export interface VersionWatch {
  /** Accepts a version whenever the program reports one; an empty text is none. */
  report(version: string): void;
  /** Returns the notices for the running turn; each only once. */
  take(): readonly unknown[];
}

/** Creates the watch; with no tested versions it only logs. */
export function createVersionWatch(
  { runtime, known = [], log }: {
    readonly runtime: string;
    readonly known?: readonly string[] | undefined;
    readonly log: Log;
  },
): VersionWatch {
  let last = "";
  let notices: readonly unknown[] = [];
  return {
    report(reported) {
      const version = reported.slice(0, VERSION_LENGTH_MAX);
      if (version === "" || version === last) return;
      last = version;
      if (known.length === 0 || known.includes(version)) {
        notices = [];
        log.info("runtime version", { runtime, version });
        return;
      }
      const tested = known.join(", ");
      log.warning("runtime version not tested", { runtime, version, tested });
      notices = [notice(`Version ${version} of ${runtime} is not tested (tested: ${tested})`)];
    },
    take() {
      const taken = notices;
      notices = [];
      return taken;
    },
  };
}
