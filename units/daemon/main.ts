/**
 * Composition root of `fleetctld`, the only service that runs as root. Its permission set lets it
 * listen on its socket, read the ledger and its key, write its audit log, and run `fleetctl-exec`.
 *
 * @module
 */

import { splitArguments } from "core/os/argv.ts";
import { openHost } from "core/os/host.ts";
import { helpOrRefuse, readEnv, serveUntilStopped, usableOrExit } from "core/os/role.ts";
import { pathsUnder } from "core/paths.ts";
import { readSettings } from "core/settings/settings.ts";
import { DAEMON_SETTINGS } from "units/daemon/settings.ts";
import { keepHostSums } from "units/daemon/host_sums.ts";
import { startDaemon } from "units/daemon/daemon.ts";

const PROGRAM = "fleetctld";
await helpOrRefuse(PROGRAM, {
  purpose: "runs verbs that need root, for callers with permission",
  settings: DAEMON_SETTINGS,
});
const host = openHost({ log: { program: PROGRAM } });
const { root } = await usableOrExit(
  PROGRAM,
  readSettings(DAEMON_SETTINGS, readEnv(DAEMON_SETTINGS)),
);

const paths = pathsUnder(root);
await serveUntilStopped(host.log.with({ socket: paths.daemonSocket }), async () => {
  const daemon = await startDaemon({ host, paths, tokenize: splitArguments });
  const stopSums = keepHostSums(host, paths);
  host.log.info("ready", { socket: paths.daemonSocket });
  return async () => {
    await Promise.all([daemon.close(), stopSums()]);
  };
});
