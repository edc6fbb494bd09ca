/**
 * Composition root of `fleetctl-teamchat-receiver`: receives the platform's messages and hands
 * them to the sender. Permission set `teamchat-receiver`: its state folder, its listener, and the
 * host of the connector's keys; no client secret, no service host, no agent.
 *
 * @module
 */

import { openHost } from "core/os/host.ts";
import { listenUnix } from "teamchat/os/listen_unix.ts";
import { helpOrRefuse, readEnv, serveUntilStopped, usableOrExit } from "core/os/role.ts";
import { logStrayRejections } from "core/os/stray_rejections.ts";
import { VERSION } from "core/version.ts";
import { readReceiverConfig, RECEIVER_SETTINGS } from "teamchat/receiver/config.ts";
import { startReceiver } from "teamchat/receiver/receiver.ts";
import { readSettingFiles } from "teamchat/setting_files.ts";

const PROGRAM = "fleetctl-teamchat-receiver";
await helpOrRefuse(PROGRAM, {
  purpose: "receives the platform's messages and forwards them",
  settings: RECEIVER_SETTINGS,
});
const host = openHost({ log: { program: PROGRAM } });
logStrayRejections(host.log);
const { env, ...files } = await readSettingFiles(readEnv(RECEIVER_SETTINGS), host.files);
const config = await usableOrExit(PROGRAM, readReceiverConfig(env, files));

await serveUntilStopped(host.log, async () => {
  for (const warning of config.warnings) host.log.warning(warning);
  const receiver = await startReceiver(config, { ...host, listenUnix }, VERSION);
  host.log.info("ready", {
    mode: config.cloud === undefined ? "local" : "cloud",
    messages: `${receiver.messages.hostname}:${receiver.messages.port}`,
    agents: config.agents.size,
  });
  return () => receiver.close();
});
