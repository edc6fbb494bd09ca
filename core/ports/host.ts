/**
 * What the tree may ask of the machine: the ports together. Real ones are in `core/os/`, fakes in
 * `tests/fakes/`, and `tests/contract/` holds one suite for both. Only `main.ts` files build a
 * `Host`; a function takes the ports that it needs.
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

/** The ports that nearly everything needs; built by `main.ts` files from `core/os/host.ts`. */
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
