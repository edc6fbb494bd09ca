/**
 * From a runtime definition to the driver of one agent: placeholders filled in, the environment
 * chosen, the driver picked by wire protocol. Starts nothing.
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import { fillPlaceholders, type RuntimeDefinition } from "core/runtimes/definition.ts";
import type { RuntimeDriver } from "core/runtimes/driver.ts";
import { acpDriver } from "core/runtimes/drivers/acp.ts";
import type { DriverOptions, DriverPorts, RuntimeLaunch } from "core/runtimes/drivers/launch.ts";
import { lineDriver } from "core/runtimes/drivers/line_driver.ts";
import { RPC_JSONL } from "core/runtimes/drivers/rpc_jsonl.ts";
import { streamJson } from "core/runtimes/drivers/stream_json.ts";

/** The agent whose runtime is to be driven. */
export interface AgentContext {
  readonly agent: string;
  readonly home: string;
  readonly paths: Paths;
  /** Folder of the dial unit's own state; the id of the conversation is kept in it. */
  readonly stateDir: string;
  /** Folder in which the runtime works; `home` when absent. */
  readonly workdir?: string;
  /** Environment of the runtime: that of the dial unit, which systemd filled from the env files. */
  readonly env: Readonly<Record<string, string>>;
  readonly decidePermission?: DriverOptions["decidePermission"];
}

/** Variables that the service manager means for the dial unit itself. */
const WITHHELD = /^(NOTIFY_SOCKET|LISTEN_(FDS|PID|FDNAMES)|CREDENTIALS_DIRECTORY|INVOCATION_ID)$/;

/** Creates the driver for `definition`: its program, its protocol, its conversation's file. */
export function createDriver(
  definition: RuntimeDefinition,
  ports: DriverPorts,
  context: AgentContext,
): RuntimeDriver {
  const places = { lib: context.paths.lib, home: context.home, agent: context.agent };
  const launch: RuntimeLaunch = {
    runtime: definition.name,
    command: fillPlaceholders(definition.command, places),
    args: definition.args.map((arg) => fillPlaceholders(arg, places)),
    env: runtimeEnv(context),
    cwd: context.workdir ?? context.home,
  };
  const options: DriverOptions = {
    sessionFile: `${context.stateDir}/session.json`,
    ...(context.decidePermission === undefined
      ? {}
      : { decidePermission: context.decidePermission }),
  };
  switch (definition.protocol) {
    case "acp":
      return acpDriver(launch, ports, options);
    case "stream_json":
      return lineDriver(streamJson(ports.random), launch, ports, options);
    case "rpc_jsonl":
      return lineDriver(RPC_JSONL, launch, ports, options);
  }
}

function runtimeEnv(context: AgentContext): Readonly<Record<string, string>> {
  const kept = Object.entries(context.env).filter(([name]) => !WITHHELD.test(name));
  return {
    ...Object.fromEntries(kept),
    HOME: context.home,
    FLEETCTL_ROOT: context.paths.root,
    FLEETCTL_AGENT: context.agent,
  };
}
