/**
 * Fixture for the tests of `Sockets` over TCP: the real adapter on loopback, and the addresses of
 * its listeners.
 *
 * @module
 */

import type { Listener, Sockets } from "core/ports/sockets.ts";
import { systemProcesses } from "core/os/processes.ts";
import { systemSockets } from "core/os/sockets.ts";
import { type RecordingLog, recordingLog } from "tests/fakes/log.ts";

/** Loopback with a port that the kernel chooses. */
export const LOOPBACK = { hostname: "127.0.0.1", port: 0 };
/** Answers requests that are not upgrades. */
export const NOT_FOUND = () => new Response("plain", { status: 404 });

/** Declares a test of the real adapter. The test must close everything that it opens. */
export function socketsTest(
  name: string,
  run: (sockets: Sockets, log: RecordingLog) => Promise<void>,
): void {
  Deno.test({
    name: `systemSockets() ${name}`,
    sanitizeOps: true,
    sanitizeResources: true,
    fn: async () => {
      const log = recordingLog();
      await run(systemSockets({ processes: systemProcesses(), log }), log);
    },
  });
}

/** Returns the address of a listener. */
export function urlOf(listener: Listener, scheme: "http" | "ws", path = "/"): string {
  return `${scheme}://${listener.address.hostname}:${listener.address.port}${path}`;
}
