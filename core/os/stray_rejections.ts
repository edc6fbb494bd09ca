/**
 * What a server does with a rejection that nobody handles: it logs it as an error and goes on,
 * because a fault in one request of one peer must not end the connections of all others.
 *
 * @module
 */

import type { Log } from "core/ports/log.ts";

/** From now on a stray rejection is a log line and not the end of the program. */
export function logStrayRejections(log: Log): void {
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    log.error("stray_rejection", { error: event.reason });
  });
}
