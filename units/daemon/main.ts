/**
 * Composition root of `fleetctld`, the only service that runs as root. Its permission set lets it
 * listen on its socket, read the ledger and its key, write its audit log, and run `fleetctl-exec`.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import { splitArguments } from "core/os/argv.ts";
import { openHost } from "core/os/host.ts";
import { pathsUnder } from "core/paths.ts";
import { printSettingsCheck, readSettings } from "core/settings.ts";
import { DAEMON_SETTINGS } from "units/daemon/settings.ts";
import { startDaemon } from "units/daemon/daemon.ts";

const host = openHost({ log: { program: "fleetctld" } });
const settings = readSettings(DAEMON_SETTINGS, { FLEETCTL_ROOT: Deno.env.get("FLEETCTL_ROOT") });
if (Deno.args[0] === "--check-config" || !settings.ok) {
  const text = printSettingsCheck("fleetctld", settings);
  await (settings.ok ? Deno.stdout : Deno.stderr).write(new TextEncoder().encode(text));
  Deno.exit(settings.ok ? 0 : 2);
}

const paths = pathsUnder(settings.value.root);
try {
  const daemon = await startDaemon({ host, paths, tokenize: splitArguments });
  host.log.info("ready", { socket: paths.daemonSocket });
  const stop = Promise.withResolvers<void>();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    Deno.addSignalListener(signal, () => stop.resolve());
  }
  await stop.promise;
  host.log.info("stopping");
  await daemon.close();
  Deno.exit(0);
} catch (thrown) {
  host.log.error("cannot serve", { socket: paths.daemonSocket, error: errorText(thrown) });
  Deno.exit(1);
}
