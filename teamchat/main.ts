/**
 * Composition root of `fleetctl-teamchat`: the platform's messages, the agents' connections, and
 * the answers. Permission set `teamchat`: its state folder, the rendered dial keys, its two
 * addresses, the hosts of its cloud.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import { isPrivate, parseIp } from "core/ip.ts";
import { openHost } from "core/os/host.ts";
import { logStrayRejections } from "core/os/stray_rejections.ts";
import { isSettingFile, withSettingFiles } from "core/setting_files.ts";
import { printSettingsCheck } from "core/settings.ts";
import { VERSION } from "core/version.ts";
import { cloudFilePath, readTeamchatConfig, TEAMCHAT_SETTINGS } from "teamchat/config.ts";
import { startTeamchat } from "teamchat/teamchat.ts";

const PROGRAM = "fleetctl-teamchat";
const host = openHost({ log: { program: PROGRAM } });
logStrayRejections(host.log);
const given = Object.fromEntries(
  Object.values(TEAMCHAT_SETTINGS).map(({ name }) => [name, Deno.env.get(name)]),
);
const env = await withSettingFiles(given, ["TEAMS_AGENTS"], host.files);

/** Addresses of this host, as far as the permission set lets us ask. */
function addresses(): readonly string[] {
  try {
    return Deno.networkInterfaces().map(({ address }) => address);
  } catch (thrown) {
    host.log.warning("own addresses are not known", { error: errorText(thrown) });
    return [];
  }
}

/** The first private address that is not loopback, IPv4 before IPv6. */
function privateAddress(): string | undefined {
  const own = addresses().filter((text) => {
    const address = parseIp(text);
    const isLoopback = text === "::1" || address?.length === 4 && address[0] === 127;
    return address !== undefined && isPrivate(address) && !isLoopback && !text.startsWith("fe80");
  });
  return own.find((text) => !text.includes(":")) ?? own[0];
}

const cloudPath = cloudFilePath(env);
const config = readTeamchatConfig(env, {
  privateAddress: privateAddress(),
  cloudFile: cloudPath === undefined
    ? undefined
    : await host.files.readText(cloudPath).catch(() => undefined),
  agentsFile: isSettingFile(given.TEAMS_AGENTS) ? given.TEAMS_AGENTS : undefined,
});
if (Deno.args[0] === "--check-config" || !config.ok) {
  const text = printSettingsCheck(PROGRAM, config);
  await (config.ok ? Deno.stdout : Deno.stderr).write(new TextEncoder().encode(text));
  Deno.exit(config.ok ? 0 : 2);
}

try {
  for (const warning of config.value.warnings) host.log.warning(warning);
  const teamchat = await startTeamchat(config.value, host, {
    version: VERSION,
    hostNames: [Deno.hostname(), ...addresses()],
  });
  const { messages, register } = teamchat;
  host.log.info("ready", {
    mode: config.value.mode.kind,
    messages: messages === undefined ? "apart" : `${messages.hostname}:${messages.port}`,
    register: `${register.hostname}:${register.port}`,
    agents: config.value.agents.size,
  });
  const stop = Promise.withResolvers<void>();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    Deno.addSignalListener(signal, () => stop.resolve());
  }
  await stop.promise;
  host.log.info("stopping");
  await teamchat.close();
  Deno.exit(0);
} catch (thrown) {
  host.log.error("cannot serve", { error: errorText(thrown) });
  Deno.exit(1);
}
