/**
 * What the tests of `Sockets` over TCP stand on: the real adapter on loopback, and addresses of its
 * listeners.
 *
 * @module
 */

import type { Listener, Sockets } from "core/ports/sockets.ts";
import { systemProcesses } from "core/os/processes.ts";
import { systemSockets } from "core/os/sockets.ts";
import { type RecordingLog, recordingLog } from "tests/fakes/log.ts";

/** An address of loopback, the port the kernel's choice. */
export const LOOPBACK = { hostname: "127.0.0.1", port: 0 };
/** Answers what is no upgrade. */
export const NOT_FOUND = () => new Response("plain", { status: 404 });

/** A test of the real adapter; what it opened, it must have closed. */
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

/** The address of a listener. */
export function urlOf(listener: Listener, scheme: "http" | "ws", path = "/"): string {
  return `${scheme}://${listener.address.hostname}:${listener.address.port}${path}`;
}
