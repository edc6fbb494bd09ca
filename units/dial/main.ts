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
import type { RuntimeDriver } from "units/dial/runtimes/driver.ts";
import { idleSecondsOf, isBuiltIn } from "core/runtimes/definition.ts";
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
import { sandboxOf, worktreePrograms } from "units/dial/sandbox.ts";
import { createQuestionEndpoint } from "units/dial/question_endpoint.ts";
import { setupEnv } from "units/dial/worktrees/setup.ts";
import { openWorktrees } from "units/dial/worktrees/worktrees.ts";

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
  const folder = paths.dialState(agent);
  const folders = await openFolders(config);
  const permissions = createPermissionEndpoint({
    runtime,
    mode: ask ?? defaultAskMode(definition.value),
    workspace: () => {
      const current = folders.current();
      return current === undefined ? undefined : { folder: current, home };
    },
    paths,
    files: host.files,
    log: host.log,
  });
  const asks = createQuestionEndpoint({ log: host.log });
  const { files, clock, log } = host;
  const mcps = createMcpStates({ files, clock, log, folder });
  const shared = createDriver(definition.value, host, {
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
  const confined = isBuiltIn(definition.value) ? await sandboxOf(config, host.processes, env) : {};
  const unit = await startDialUnit(config, host, {
    driver: folders.within(shared),
    mcps,
    idleMs: idleSeconds === undefined ? undefined : idleSeconds * 1_000,
    permissions,
    asks,
    releaseMemory,
    ...defined({ worktrees: folders.worktrees }),
    ...confined,
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

/** The folders in which the agent's programs work. */
async function openFolders(config: DialConfig) {
  const { agent, paths, workdir, worktrees, setup } = config;
  const opened = workdir === undefined ? undefined : await openWorktrees({
    ...host,
    processes: worktreePrograms(config, host.processes),
    agent,
    workspace: workdir,
    isOn: worktrees === "yes",
    setup,
    stateDir: paths.dialState(agent),
    env: setupEnv(env),
  });
  let current = workdir;
  return {
    worktrees: opened,
    /** Returns the folder of the program that runs. */
    current: () => current,
    /** Starts programs in the folder of their conversation. */
    within: (driver: RuntimeDriver): RuntimeDriver => ({
      start: (signal, conversation) => {
        const own = opened?.folderOf(conversation);
        current = own ?? workdir;
        return driver.start(signal, conversation, own);
      },
    }),
  };
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
