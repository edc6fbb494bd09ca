/**
 * Composition root of `fleetctl-dial`, the unit of one agent: picks the runtime's definition and
 * driver, and keeps the session with the gateway. Permission set `dial` of the agent.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import { openHost } from "core/os/host.ts";
import { createDriver } from "core/runtimes/create_driver.ts";
import { findDefinition, readDefinitions } from "core/runtimes/definitions.ts";
import { printSettingsCheck } from "core/settings.ts";
import { VERSION } from "core/version.ts";
import { startDialUnit } from "units/dial/app.ts";
import { readDialConfig } from "units/dial/config.ts";
import { createPermissionDesk } from "units/dial/permission.ts";

const PROGRAM = "fleetctl-dial";
const host = openHost({ log: { program: PROGRAM } });
const env = Deno.env.toObject();
const config = readDialConfig(env);
if (Deno.args[0] === "--check-config" || !config.ok) {
  const text = printSettingsCheck(PROGRAM, config);
  await (config.ok ? Deno.stdout : Deno.stderr).write(new TextEncoder().encode(text));
  Deno.exit(config.ok ? 0 : 2);
}

try {
  const { paths, agent, runtime, workdir } = config.value;
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
  const unit = await startDialUnit(config.value, host, {
    driver,
    permissions,
    hostname: Deno.hostname(),
    version: VERSION,
  });
  if (!unit.ok) {
    host.log.error(unit.error.message, { code: unit.error.code });
    Deno.exit(2);
  }
  host.log.info("ready", { agent, gateway: config.value.cockpitUrl.host });
  const stop = Promise.withResolvers<void>();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    Deno.addSignalListener(signal, () => stop.resolve());
  }
  await stop.promise;
  host.log.info("stopping");
  await unit.value.close();
  Deno.exit(0);
} catch (thrown) {
  host.log.error("cannot serve", { error: errorText(thrown) });
  Deno.exit(1);
}
