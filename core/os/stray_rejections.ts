/**
 * Logs unhandled rejections in a server as errors and keeps it running. A fault in one peer's
 * request must not end all other connections.
 *
 * @module
 */

import type { Log } from "core/ports/log.ts";

/** Makes every later unhandled rejection a log line, so that it does not end the program. */
export function logStrayRejections(log: Log): void {
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    log.error("stray_rejection", { error: event.reason });
  });
}
