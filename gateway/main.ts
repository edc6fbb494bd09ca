/**
 * Composition root of `fleetctl-gateway`: the cockpit on loopback and the dial-in listener.
 * Permission set `gateway`: its state folder, the rendered dial keys, its two addresses, and the
 * daemon's socket.
 *
 * @module
 */

import { openHost } from "core/os/host.ts";
import {
  helpOrRefuse,
  ownAddresses,
  readEnv,
  serveUntilStopped,
  usableOrExit,
} from "core/os/role.ts";
import { logStrayRejections } from "core/os/stray_rejections.ts";
import { withRosterFile } from "core/access/roster_file.ts";
import { isSettingFile } from "core/settings/setting_files.ts";
import { VERSION } from "core/version.ts";
import { GATEWAY_SETTINGS, readGatewayConfig } from "gateway/config.ts";
import { daemonVerbs } from "gateway/daemon_verbs.ts";
import { ledgerClient } from "gateway/dial/ledger_client.ts";
import { startGateway } from "gateway/gateway.ts";

const PROGRAM = "fleetctl-gateway";
await helpOrRefuse(PROGRAM, {
  purpose: "serves the cockpit and the page, and the connections of agents",
  settings: GATEWAY_SETTINGS,
});
const host = openHost({ log: { program: PROGRAM } });
logStrayRejections(host.log);
const given = readEnv(GATEWAY_SETTINGS);
const rosterFile = isSettingFile(given.WEBVIEW_LEDGER) ? given.WEBVIEW_LEDGER : undefined;
const env = await withRosterFile(given, host.files);
const config = await usableOrExit(PROGRAM, await readGatewayConfig(env, rosterFile));

await serveUntilStopped(host.log, async () => {
  for (const warning of config.warnings) host.log.warning(warning);
  const verbs = daemonVerbs(host, config.paths.daemonSocket);
  const gateway = await startGateway(config, host, {
    version: VERSION,
    hostNames: [Deno.hostname(), ...ownAddresses(host.log)],
    forwardKey: ledgerClient(verbs),
    verbs,
  });
  const { cockpit, dial } = gateway;
  host.log.info("ready", {
    cockpit: `${cockpit.hostname}:${cockpit.port}`,
    dial: `${dial.hostname}:${dial.port}`,
  });
  return () => gateway.close();
});
