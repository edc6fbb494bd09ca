/**
 * Creates the driver of one agent from a runtime definition: fills in placeholders, selects the
 * environment, and picks the driver by wire protocol. Starts nothing.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { errorText } from "core/errors.ts";
import type { AskMode } from "core/ledger/agent.ts";
import type { Paths } from "core/paths.ts";
import { fillPlaceholders, type RuntimeDefinition } from "core/runtimes/definition.ts";
import { startMsOf } from "core/runtimes/needs.ts";
import type { RuntimeDriver } from "units/dial/runtimes/driver.ts";
import { acpDriver } from "units/dial/runtimes/acp.ts";
import { codexAppServer } from "units/dial/runtimes/codex.ts";
import {
  childEnv,
  type DriverOptions,
  type DriverPorts,
  type RuntimeLaunch,
} from "units/dial/runtimes/launch.ts";
import { lineDriver } from "units/dial/runtimes/line_driver.ts";
import { RPC_JSONL } from "units/dial/runtimes/rpc_jsonl.ts";
import {
  CLIENT_CONFIG_BYTES_MAX,
  type McpEntry,
  parseMcpEntries,
} from "core/runtimes/mcp_entries.ts";
import { withSignIn } from "units/dial/runtimes/sign_in.ts";
import { streamJson } from "units/dial/runtimes/stream_json.ts";

/** The agent that the driver is for. */
export interface AgentContext {
  readonly agent: string;
  readonly home: string;
  readonly paths: Paths;
  /** Folder of the dial unit's own state; it contains the id of the conversation. */
  readonly stateDir: string;
  /** Folder in which the runtime works; `home` when absent. */
  readonly workdir?: string;
  /** Mode in the agent's record: the program must ask about everything that this mode asks about. */
  readonly ask?: AskMode;
  /** Environment of the dial unit, passed to the runtime; systemd filled it from the env files. */
  readonly env: Readonly<Record<string, string>>;
  readonly decidePermission?: DriverOptions["decidePermission"];
  readonly askQuestion?: DriverOptions["askQuestion"];
  readonly onMcps?: DriverOptions["onMcps"];
}

/** Creates the driver for `definition`. */
export function createDriver(
  definition: RuntimeDefinition,
  ports: DriverPorts,
  context: AgentContext,
): RuntimeDriver {
  const placeholders = { lib: context.paths.lib, home: context.home, agent: context.agent };
  const launch: RuntimeLaunch = {
    runtime: definition.name,
    command: fillPlaceholders(definition.command, placeholders),
    args: definition.args.map((arg) => fillPlaceholders(arg, placeholders)),
    env: runtimeEnv(context, definition, placeholders),
    cwd: context.workdir ?? context.home,
    sessionMode: definition.sessionMode,
    known: definition.known,
    ask: context.ask,
  };
  const options: DriverOptions = {
    sessionFile: `${context.stateDir}/session.json`,
    mcps: {
      read: () => readMcpEntries(definition, ports, context),
      file: `${context.stateDir}/mcp.json`,
      isInSession: definition.clientConfig.shape === "mcp_servers",
    },
    startMs: startMsOf(definition.needs),
    ...defined({
      onMcps: context.onMcps,
      decidePermission: context.decidePermission,
      askQuestion: context.askQuestion,
    }),
  };
  const signIn = definition.signIn?.replaceAll("{agent}", context.agent);
  return withSignIn(driverOf(definition, { launch, ports, options }), signIn);
}

function driverOf(
  { protocol }: Pick<RuntimeDefinition, "protocol">,
  { launch, ports, options }: {
    readonly launch: RuntimeLaunch;
    readonly ports: DriverPorts;
    readonly options: DriverOptions;
  },
): RuntimeDriver {
  switch (protocol) {
    case "acp":
      return acpDriver(launch, ports, options);
    case "stream_json":
      return lineDriver(streamJson(ports.random), launch, ports, options);
    case "rpc_jsonl":
      return lineDriver(RPC_JSONL, launch, ports, options);
    case "codex_app_server":
      return lineDriver(codexAppServer(), launch, ports, options);
  }
}

/** Reads the client config. An unusable one is logged and gives no entries. */
async function readMcpEntries(
  { name, clientConfig }: RuntimeDefinition,
  { files, log }: DriverPorts,
  { home, agent, paths }: AgentContext,
): Promise<readonly McpEntry[]> {
  const path = fillPlaceholders(clientConfig.path, { lib: paths.lib, home, agent });
  const unusable = (reason: string) => {
    log.warning("client config not used", { runtime: name, path, reason });
    return [];
  };
  try {
    const stat = await files.stat(path);
    if (stat === undefined) return [];
    if (stat.kind !== "file" || stat.size > CLIENT_CONFIG_BYTES_MAX) {
      return unusable(`it is not a file, or has more than ${CLIENT_CONFIG_BYTES_MAX} bytes`);
    }
    const text = await files.readText(path) ?? "{}";
    const entries = parseMcpEntries(text, { shape: clientConfig.shape, home, paths, agent });
    return entries.ok ? entries.value : unusable(entries.error);
  } catch (thrown) {
    return unusable(errorText(thrown));
  }
}

function runtimeEnv(
  context: AgentContext,
  { env }: RuntimeDefinition,
  placeholders: Parameters<typeof fillPlaceholders>[1],
): Readonly<Record<string, string>> {
  const own = Object.entries(env).map((
    [name, text],
  ) => [name, fillPlaceholders(text, placeholders)]);
  return {
    ...Object.fromEntries(own),
    ...childEnv(context.env),
    HOME: context.home,
    FLEETCTL_ROOT: context.paths.root,
    FLEETCTL_AGENT: context.agent,
  };
}
