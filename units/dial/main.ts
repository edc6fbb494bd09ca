/**
 * Composition root of `fleetctl-dial`. As the unit of one agent it picks the runtime's definition
 * and driver and keeps the session with the gateway. It then has the agent's permission set `dial`.
 * With `--host` it is the host's own unit, which runs jobs with the host's permission set
 * `host-dial`.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { parseDialKey } from "core/dial/proof.ts";
import { openHost } from "core/os/host.ts";
import { helpOrRefuse, serveUntilStopped, usableOrExit } from "core/os/role.ts";
import { createDriver } from "units/dial/runtimes/create_driver.ts";
import { idleSecondsOf } from "core/runtimes/definition.ts";
import { findDefinition, readDefinitions } from "core/runtimes/definitions.ts";
import type { Result } from "core/result.ts";
import { defaultAskMode } from "core/risk/builtin_tools.ts";
import { VERSION } from "core/version.ts";
import { startDialUnit } from "units/dial/app.ts";
import { DIAL_SETTINGS, type DialConfig, readDialConfig } from "units/dial/config.ts";
import {
  HOST_DIAL_SETTINGS,
  HOST_KEY_CREDENTIAL,
  type HostDialConfig,
  readHostDialConfig,
} from "units/dial/host_config.ts";
import { startHostUnit } from "units/dial/host_unit.ts";
import { releaseMemory } from "units/dial/os/release_memory.ts";
import { createMcpStates } from "units/dial/mcp_states.ts";
import { createPermissionEndpoint } from "units/dial/permission.ts";
import { createQuestionEndpoint } from "units/dial/question_endpoint.ts";

const PROGRAM = "fleetctl-dial";
const host = openHost({ log: { program: PROGRAM } });
const env = Deno.env.toObject();
const isHost = Deno.args[0] === "--host";
await helpOrRefuse(PROGRAM, {
  purpose: isHost
    ? "keeps this host's own connection to the gateway"
    : "keeps the connection of one agent to its gateway, and runs its runtime",
  settings: isHost ? HOST_DIAL_SETTINGS : DIAL_SETTINGS,
  arguments: { "--host": "first argument: run as the unit of the host, not of an agent" },
});

/** Settings of either kind; exits when they are not usable. */
const settings = <T>(read: Result<T>) =>
  usableOrExit(PROGRAM, read, Deno.args[isHost ? 1 : 0] === "--check-config");

await serveUntilStopped(
  host.log,
  async () =>
    isHost
      ? await serveHost(await settings(readHostDialConfig(env)))
      : await serveAgent(await settings(readDialConfig(env))),
);

async function serveAgent(config: DialConfig): Promise<() => Promise<void>> {
  const { paths, agent, runtime, workdir, ask } = config;
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
  const home = paths.home(agent);
  const permissions = createPermissionEndpoint({
    runtime,
    mode: ask ?? defaultAskMode(definition.value),
    workspace: workdir === undefined ? undefined : { folder: workdir, home },
    paths,
    files: host.files,
    log: host.log,
  });
  const asks = createQuestionEndpoint({ log: host.log });
  const folder = paths.dialState(agent);
  const { files, clock, log } = host;
  const mcps = createMcpStates({ files, clock, log, folder });
  const driver = createDriver(definition.value, host, {
    agent,
    home,
    paths,
    stateDir: folder,
    env,
    decidePermission: permissions.decide,
    askQuestion: asks.ask,
    onMcps: mcps.report,
    ...defined({ workdir, ask }),
  });
  const idleSeconds = idleSecondsOf(definition.value);
  const unit = await startDialUnit(config, host, {
    driver,
    mcps,
    idleMs: idleSeconds === undefined ? undefined : idleSeconds * 1_000,
    permissions,
    asks,
    releaseMemory,
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
