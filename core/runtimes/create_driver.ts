/**
 * From a runtime definition to the driver of one agent: placeholders filled in, the environment
 * chosen, the driver picked by wire protocol. Starts nothing.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import type { Paths } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";
import { fillPlaceholders, type RuntimeDefinition } from "core/runtimes/definition.ts";
import type { RuntimeDriver } from "core/runtimes/driver.ts";
import {
  acpDriver,
  type AcpDriverOptions,
  type AcpDriverPorts,
} from "core/runtimes/drivers/acp.ts";

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
  readonly decidePermission?: AcpDriverOptions["decidePermission"];
}

/** Variables that the service manager means for the dial unit itself. */
const WITHHELD = /^(NOTIFY_SOCKET|LISTEN_(FDS|PID|FDNAMES)|CREDENTIALS_DIRECTORY|INVOCATION_ID)$/;

/** Creates the driver for `definition`; refuses protocols that have no driver. */
export function createDriver(
  definition: RuntimeDefinition,
  ports: AcpDriverPorts,
  context: AgentContext,
): Result<RuntimeDriver> {
  if (definition.protocol !== "acp") {
    return err(refusal(
      "runtime-protocol-unsupported",
      `Cannot drive runtime "${definition.name}": its protocol is "${definition.protocol}", ` +
        `must be "acp"`,
      { kind: "settings" },
    ));
  }
  const places = { lib: context.paths.lib, home: context.home, agent: context.agent };
  return ok(acpDriver(
    {
      runtime: definition.name,
      command: fillPlaceholders(definition.command, places),
      args: definition.args.map((arg) => fillPlaceholders(arg, places)),
      env: runtimeEnv(context),
      cwd: context.workdir ?? context.home,
    },
    ports,
    {
      sessionFile: `${context.stateDir}/session.json`,
      ...(context.decidePermission === undefined
        ? {}
        : { decidePermission: context.decidePermission }),
    },
  ));
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
