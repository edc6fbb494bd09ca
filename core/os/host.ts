/**
 * Builds the `Host` of a program: one line per adapter, and the only place that picks them. Only
 * `main.ts` files call it; all other code receives its ports as parameters.
 *
 * @module
 */

import type { Host } from "core/ports/host.ts";
import type { LogLevel } from "core/ports/log.ts";
import { systemClock } from "core/os/clock.ts";
import { denoFiles } from "core/os/files.ts";
import { systemHttp } from "core/os/http.ts";
import { stderrLog } from "core/os/log.ts";
import { systemProcesses } from "core/os/processes.ts";
import { systemRandom } from "core/os/random.ts";
import { systemSockets } from "core/os/sockets.ts";
import { sqliteDatabases } from "core/os/sqlite.ts";
import { systemUsers } from "core/os/users.ts";

/** How a program identifies itself. */
export interface HostOptions {
  readonly log: {
    /** Name in each log line: `fleetctl-gateway`. */
    readonly program: string;
    readonly level?: LogLevel;
  };
}

/** Builds the ports for a program. */
export function openHost(options: HostOptions): Host {
  const log = stderrLog(options.log);
  const processes = systemProcesses();
  return {
    clock: systemClock(),
    random: systemRandom(),
    files: denoFiles(),
    processes,
    users: systemUsers(processes),
    http: systemHttp(),
    sockets: systemSockets({ processes, log }),
    databases: sqliteDatabases(),
    log,
  };
}
