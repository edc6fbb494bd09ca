/**
 * Composition root of `fleetctl-dial`. As the unit of one agent it picks the runtime's definition
 * and driver, and keeps the session with the gateway: permission set `dial` of the agent. With
 * `--host` it is the host's own unit, which runs jobs: permission set `host-dial` of the host.
 *
 * @module
 */

import { parseDialKey } from "core/dial/proof.ts";
import { errorText } from "core/errors.ts";
import { openHost } from "core/os/host.ts";
import { createDriver } from "core/runtimes/create_driver.ts";
import { findDefinition, readDefinitions } from "core/runtimes/definitions.ts";
import { printSettingsCheck } from "core/settings.ts";
import type { Result } from "core/result.ts";
import { VERSION } from "core/version.ts";
import { startDialUnit } from "units/dial/app.ts";
import { type DialConfig, readDialConfig } from "units/dial/config.ts";
import {
  HOST_KEY_CREDENTIAL,
  type HostDialConfig,
  readHostDialConfig,
} from "units/dial/host_config.ts";
import { startHostUnit } from "units/dial/host_unit.ts";
import { createPermissionDesk } from "units/dial/permission.ts";

const PROGRAM = "fleetctl-dial";
const host = openHost({ log: { program: PROGRAM } });
const env = Deno.env.toObject();
const isHost = Deno.args[0] === "--host";

try {
  const close = isHost
    ? await serveHost(await settings(readHostDialConfig(env)))
    : await serveAgent(await settings(readDialConfig(env)));
  const stop = Promise.withResolvers<void>();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    Deno.addSignalListener(signal, () => stop.resolve());
  }
  await stop.promise;
  host.log.info("stopping");
  await close();
  Deno.exit(0);
} catch (thrown) {
  host.log.error("cannot serve", { error: errorText(thrown) });
  Deno.exit(1);
}

/** Returns the settings, or prints what is wrong with them and ends. */
async function settings<T>(config: Result<T>): Promise<T> {
  const isCheck = Deno.args[isHost ? 1 : 0] === "--check-config";
  if (config.ok && !isCheck) return config.value;
  const text = printSettingsCheck(PROGRAM, config);
  await (config.ok ? Deno.stdout : Deno.stderr).write(new TextEncoder().encode(text));
  Deno.exit(config.ok ? 0 : 2);
}

async function serveAgent(config: DialConfig): Promise<() => Promise<void>> {
  const { paths, agent, runtime, workdir } = config;
  const definitions = await readDefinitions(host.files, paths);
  for (const fault of definitions.faults) {
    host.log.warning(fault.message, { code: fault.code, details: fault.details });
  }
  const definition = findDefinition(definitions, runtime);
  if (!definition.ok) {
    const { message, code, details } = definition.error;
    host.log.error(message, { code, details });
    Deno.exit(2);
  }
  const permissions = createPermissionDesk({ runtime, paths, files: host.files, log: host.log });
  const driver = createDriver(definition.value, host, {
    agent,
    home: paths.home(agent),
    paths,
    stateDir: paths.dialState(agent),
    env,
    decidePermission: permissions.decide,
    ...(workdir === undefined ? {} : { workdir }),
  });
  const unit = await startDialUnit(config, host, {
    driver,
    permissions,
    hostname: Deno.hostname(),
    version: VERSION,
  });
  if (!unit.ok) {
    host.log.error(unit.error.message, { code: unit.error.code });
    Deno.exit(2);
  }
  host.log.info("ready", { agent, gateway: config.cockpitUrl.host });
  return () => unit.value.close();
}

async function serveHost(config: HostDialConfig): Promise<() => Promise<void>> {
  const stored = await host.files.readText(`${config.credentials}/${HOST_KEY_CREDENTIAL}`);
  const key = await parseDialKey(stored ?? "");
  if (!key.ok) {
    host.log.error(key.error.message, { code: key.error.code });
    Deno.exit(2);
  }
  const unit = startHostUnit(config, host, { key: key.value, version: VERSION });
  host.log.info("ready", { host: config.hostname, gateway: config.gatewayUrl.host });
  return () => unit.close();
}
