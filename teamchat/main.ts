/**
 * Composition root of `fleetctl-teamchat`: the platform's messages, the agents' connections, and
 * the answers. Permission set `teamchat`: its state folder, the rendered dial keys, its two
 * addresses, the hosts of its cloud.
 *
 * @module
 */

import { privateAddressOf } from "core/net/ip.ts";
import { openHost } from "core/os/host.ts";
import {
  helpOrRefuse,
  ownAddresses,
  readEnv,
  serveUntilStopped,
  usableOrExit,
} from "core/os/role.ts";
import { logStrayRejections } from "core/os/stray_rejections.ts";
import { VERSION } from "core/version.ts";
import { readTeamchatConfig, TEAMCHAT_SETTINGS } from "teamchat/config.ts";
import { readSettingFiles } from "teamchat/setting_files.ts";
import { startTeamchat } from "teamchat/teamchat.ts";

const PROGRAM = "fleetctl-teamchat";
await helpOrRefuse(PROGRAM, {
  purpose: "brings team-chat messages to agents, and their answers back",
  settings: TEAMCHAT_SETTINGS,
});
const host = openHost({ log: { program: PROGRAM } });
logStrayRejections(host.log);
const { env, ...files } = await readSettingFiles(readEnv(TEAMCHAT_SETTINGS), host.files);
const addresses = ownAddresses(host.log);
const config = await usableOrExit(
  PROGRAM,
  readTeamchatConfig(env, { ...files, privateAddress: privateAddressOf(addresses) }),
);

await serveUntilStopped(host.log, async () => {
  for (const warning of config.warnings) host.log.warning(warning);
  const teamchat = await startTeamchat(config, host, {
    version: VERSION,
    hostNames: [Deno.hostname(), ...addresses],
  });
  const { messages, register } = teamchat;
  host.log.info("ready", {
    mode: config.mode.kind,
    messages: messages === undefined
      ? "received by a separate process"
      : `${messages.hostname}:${messages.port}`,
    register: `${register.hostname}:${register.port}`,
    agents: config.agents.size,
  });
  return () => teamchat.close();
});
