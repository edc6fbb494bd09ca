/**
 * Composition root of `fleetctl-teamchat-receiver`: takes the platform's messages and hands them to the
 * sending half. Permission set `teamchat-receiver`: its state folder, its listener, the host of the
 * connector's keys; no client secret, no service host, no agent.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import { openHost } from "core/os/host.ts";
import { listenUnix } from "core/os/listen_unix.ts";
import { logStrayRejections } from "core/os/stray_rejections.ts";
import { isSettingFile, withSettingFiles } from "core/setting_files.ts";
import { printSettingsCheck } from "core/settings.ts";
import { VERSION } from "core/version.ts";
import { cloudFilePath } from "teamchat/config.ts";
import { readReceiverConfig, RECEIVER_SETTINGS } from "teamchat/receiver/config.ts";
import { startReceiver } from "teamchat/receiver/receiver.ts";

const PROGRAM = "fleetctl-teamchat-receiver";
const host = openHost({ log: { program: PROGRAM } });
logStrayRejections(host.log);
const given = Object.fromEntries(
  Object.values(RECEIVER_SETTINGS).map(({ name }) => [name, Deno.env.get(name)]),
);
const env = await withSettingFiles(given, ["TEAMS_AGENTS"], host.files);
const cloudPath = cloudFilePath(env);
const config = readReceiverConfig(env, {
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
  const receiver = await startReceiver(config.value, { ...host, listenUnix }, VERSION);
  host.log.info("ready", {
    mode: config.value.cloud === undefined ? "local" : "cloud",
    messages: `${receiver.messages.hostname}:${receiver.messages.port}`,
    agents: config.value.agents.size,
  });
  const stop = Promise.withResolvers<void>();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    Deno.addSignalListener(signal, () => stop.resolve());
  }
  await stop.promise;
  host.log.info("stopping");
  await receiver.close();
  Deno.exit(0);
} catch (thrown) {
  host.log.error("cannot serve", { error: errorText(thrown) });
  Deno.exit(1);
}
