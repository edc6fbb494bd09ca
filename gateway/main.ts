/**
 * Composition root of `fleetctl-gateway`: the cockpit on loopback and the dial-in listener.
 * Permission set `gateway`: its state folder, the rendered dial keys, its two addresses, the
 * daemon's socket.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import { openHost } from "core/os/host.ts";
import { logStrayRejections } from "core/os/stray_rejections.ts";
import { withSettingFiles } from "core/setting_files.ts";
import { printSettingsCheck } from "core/settings.ts";
import { VERSION } from "core/version.ts";
import { GATEWAY_SETTINGS, readGatewayConfig } from "gateway/config.ts";
import { daemonVerbs } from "gateway/daemon_verbs.ts";
import { ledgerClient } from "gateway/dial/ledger_client.ts";
import { startGateway } from "gateway/gateway.ts";

const PROGRAM = "fleetctl-gateway";
const host = openHost({ log: { program: PROGRAM } });
logStrayRejections(host.log);
const given = Object.fromEntries(
  Object.values(GATEWAY_SETTINGS).map(({ name }) => [name, Deno.env.get(name)]),
);
const env = await withSettingFiles(given, ["WEBVIEW_LEDGER"], host.files);
const config = await readGatewayConfig(env);
if (Deno.args[0] === "--check-config" || !config.ok) {
  const text = printSettingsCheck(PROGRAM, config);
  await (config.ok ? Deno.stdout : Deno.stderr).write(new TextEncoder().encode(text));
  Deno.exit(config.ok ? 0 : 2);
}

/** Names and addresses of this host, as far as the permission set lets us ask. */
function hostNames(): readonly string[] {
  try {
    return [Deno.hostname(), ...Deno.networkInterfaces().map(({ address }) => address)];
  } catch (thrown) {
    host.log.warning("own addresses are not known", { error: errorText(thrown) });
    return [];
  }
}

try {
  for (const warning of config.value.warnings) host.log.warning(warning);
  const verbs = daemonVerbs(host, config.value.paths.daemonSocket);
  const gateway = await startGateway(config.value, host, {
    version: VERSION,
    hostNames: hostNames(),
    forwardKey: ledgerClient(verbs),
    verbs,
  });
  const { cockpit, dial } = gateway;
  host.log.info("ready", {
    cockpit: `${cockpit.hostname}:${cockpit.port}`,
    dial: `${dial.hostname}:${dial.port}`,
  });
  const stop = Promise.withResolvers<void>();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    Deno.addSignalListener(signal, () => stop.resolve());
  }
  await stop.promise;
  host.log.info("stopping");
  await gateway.close();
  Deno.exit(0);
} catch (thrown) {
  host.log.error("cannot serve", { error: errorText(thrown) });
  Deno.exit(1);
}
