/**
 * All ports to the machine together. The adapters are in `core/os/`, the fakes in `tests/fakes/`,
 * and `tests/contract/` has one suite for both. Only `main.ts` files build a `Host`; functions
 * accept just the ports that they need.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";
import type { Databases } from "core/ports/databases.ts";
import type { Files } from "core/ports/files.ts";
import type { HttpClient } from "core/ports/http_client.ts";
import type { Log } from "core/ports/log.ts";
import type { Processes } from "core/ports/processes.ts";
import type { Random } from "core/ports/random.ts";
import type { Sockets } from "core/ports/sockets.ts";
import type { Users } from "core/ports/users.ts";

/** The ports that nearly all code needs; `main.ts` files create them with `core/os/host.ts`. */
export interface Host {
  readonly clock: Clock;
  readonly random: Random;
  readonly files: Files;
  readonly processes: Processes;
  readonly users: Users;
  readonly http: HttpClient;
  readonly sockets: Sockets;
  readonly databases: Databases;
  readonly log: Log;
}
