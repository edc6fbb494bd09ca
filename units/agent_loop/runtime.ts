/**
 * Wires the built-in runtime: settings, model (or the demo model), built-in tools, MCP servers, and
 * the ACP agent over them. No model is loaded and no server started before a turn needs it.
 *
 * @module
 */

import { createApprovalRequest } from "core/dial/ask_human.ts";
import { errorText } from "core/errors.ts";
import type { Host } from "core/ports/host.ts";
import { DEFAULT_RUNTIME } from "core/ledger/shard.ts";
import { localCommandsFor } from "core/hints/local_hints.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import { ok, type Result } from "core/result.ts";
import { MODEL_KEY_NAMES } from "core/runtimes/model_keys.ts";
import { VERSION } from "core/version.ts";
import { RUNTIME_LIMITS } from "units/agent_loop/limits.ts";
import { approvalReader } from "units/agent_loop/journal/approvals.ts";
import { createJournals } from "units/agent_loop/journal/files.ts";
import { createAgent, type RuntimeAgent } from "units/agent_loop/agent.ts";
import { type DemoEndpoint, startDemoEndpoint } from "units/agent_loop/demo/endpoint.ts";
import { parseClientConfig, type ServerFault } from "units/agent_loop/mcp/config.ts";
import { type McpPool, mcpPool } from "units/agent_loop/mcp/pool.ts";
import { mcpServer } from "units/agent_loop/mcp/server.ts";
import { toolsCache } from "units/agent_loop/mcp/tools_cache.ts";
import { createMediaStore } from "units/agent_loop/media/store.ts";
import { loadModel } from "units/agent_loop/model/provider.ts";
import {
  type ModelSettings,
  readRuntimeSettings,
  type RuntimeSettings,
} from "units/agent_loop/settings.ts";
import { createSpendCheck } from "units/agent_loop/spend_check.ts";
import { builtInTools } from "units/agent_loop/tools/sandbox.ts";
import type { Tool } from "units/agent_loop/tools/tool.ts";
import { toolGate } from "units/agent_loop/tool_gate.ts";
import { todoTool } from "units/agent_loop/tools/todo.ts";
import { nameTools } from "units/agent_loop/tools/tool_set.ts";
import type { ModelSource } from "units/agent_loop/turn/run_turn.ts";
import type { TurnModels } from "units/agent_loop/turn/turn_model.ts";

/** Options of a runtime process. */
export interface RuntimeOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly home: string;
  readonly agent: string;
  /** Folder of the source tree that this program runs from; undefined for a built program. */
  readonly tree: string | undefined;
  /** Path of the client config with the agent's MCP servers. */
  readonly clientConfig: string;
}

/** A runtime that is ready for a client to connect. */
export interface Runtime {
  readonly agent: RuntimeAgent;
  /** Ends turns, servers and the demo model. */
  close(): Promise<void>;
}

/** Variables that every MCP server receives besides those of its own entry. */
const SERVER_ENV = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "LANG",
  "LC_ALL",
  "TZ",
  "TMPDIR",
  "FLEETCTL_ROOT",
  "FLEETCTL_AGENT",
  "FLEETCTL_PERMISSIONS",
];

const DEMO_GREETING =
  "No model provider is configured, so the demo model answers: it understands " +
  "a few phrases and calls real tools";

/** Creates the runtime; reads the client config once. */
export async function createRuntime(options: RuntimeOptions, host: Host): Promise<Runtime> {
  const settings = readRuntimeSettings(options.env);
  const { pool, byUrl } = await readPool(options, host);
  const paths = pathsUnder(options.env.FLEETCTL_ROOT ?? "/");
  const gated = createGate(settings, { options, paths, byUrl, host });
  const source = modelSource(settings, options, host);
  const builtIns = builtInTools({
    ...options,
    paths,
    sandbox: settings.ok ? settings.value.sandbox : undefined,
    env: without(options.env, MODEL_KEY_NAMES),
    ports: host,
  });
  const isDemo = settings.ok && settings.value.model.provider === "demo";
  const agent = createAgent({
    agent: options.agent,
    version: VERSION,
    home: options.home,
    persona: settings.ok ? settings.value.persona : undefined,
    sessionsDir: `${options.home}/.runtime-b/agent/sessions`,
    model: source.model,
    stepsMax: settings.ok ? settings.value.stepsMax : RUNTIME_LIMITS.stepsDefault,
    media: createMediaStore(`${options.home}/.runtime-b/agent/media`, host),
    prepareTools: (signal, report) => pool.prepare(signal, report),
    journals: createJournals(paths.journals(options.agent), options.agent, host),
    approvals: approvalReader({ socket: paths.dialSocket(options.agent), ...host }),
    checkSpend: createSpendCheck({
      socket: paths.dialSocket(options.agent),
      connect: (path) => host.sockets.connectUnix(path),
      isLimited: () => isLimited(options.agent, paths, host),
    }),
    toolsFor(cwd, more): readonly Tool[] {
      const folders = { cwd, home: options.home };
      const isInWorkspace = cwd === options.env.FLEETCTL_WORKSPACE;
      const workspace = isInWorkspace ? { folder: cwd, home: options.home } : undefined;
      return nameTools([
        ...builtIns(folders),
        todoTool(),
        ...more,
        ...pool.tools(),
      ]).map((tool) => gated(tool, workspace));
    },
    greeting: isDemo ? DEMO_GREETING : undefined,
    ports: host,
  });
  return {
    agent,
    async close() {
      await agent.close();
      await Promise.all([pool.close(), source.close()]);
    },
  };
}

/** Creates the gate; its questions go to the dial unit. */
function createGate(
  settings: Result<RuntimeSettings>,
  { options, paths, byUrl, host }: {
    readonly options: RuntimeOptions;
    readonly paths: Paths;
    readonly byUrl: ReadonlySet<string>;
    readonly host: Host;
  },
) {
  return toolGate({
    agent: options.agent,
    runtime: options.env.FLEETCTL_RUNTIME ?? DEFAULT_RUNTIME,
    // Without valid settings there is no model, so no tool runs.
    mode: settings.ok ? settings.value.ask ?? "never" : "changes",
    paths,
    files: host.files,
    byUrl,
    ask: (call, { policy, signal }) =>
      createApprovalRequest({
        socket: paths.dialSocket(options.agent),
        connect: (path) => host.sockets.connectUnix(path),
        policy,
        // The end of a cancelled turn withdraws the question.
        leave: signal,
        clock: host.clock,
      })(call),
  });
}

async function readPool(
  options: RuntimeOptions,
  host: Host,
): Promise<{ readonly pool: McpPool; readonly byUrl: ReadonlySet<string> }> {
  const { servers, faults } = await readServers(options, host);
  const ports = { ...host, env: only(options.env, SERVER_ENV), cwd: options.home };
  const paths = pathsUnder(options.env.FLEETCTL_ROOT ?? "/");
  const cacheContext = {
    files: host.files,
    clock: host.clock,
    log: host.log,
    gate: paths.gate,
    folder: `${options.home}/.runtime-b/agent/tools`,
  };
  const made = servers.map((config) => mcpServer(config, ports, toolsCache(config, cacheContext)));
  const pool = mcpPool(made, faults, host.clock);
  const byUrl = servers.filter((config) => config.kind === "http").map((config) => config.name);
  return { pool, byUrl: new Set(byUrl) };
}

async function readServers(options: RuntimeOptions, host: Host) {
  const unusable = (reason: string) => {
    const faults: ServerFault[] = [{ name: "*", reason: `"${options.clientConfig}": ${reason}` }];
    return { servers: [], faults };
  };
  let text: string | undefined;
  try {
    text = await host.files.readText(options.clientConfig);
  } catch (error) {
    return unusable(errorText(error));
  }
  if (text === undefined || text.trim() === "") return { servers: [], faults: [] };
  const parsed = parseClientConfig(text, options.env, options.home);
  return parsed.ok ? parsed.value : unusable(parsed.error);
}

/** Whether the agent or its host has a spend ceiling. */
async function isLimited(
  agent: string,
  paths: Paths,
  { files }: Host,
): Promise<boolean> {
  return await files.stat(paths.agentCeiling(agent)) !== undefined ||
    await files.stat(paths.hostCeilings) !== undefined;
}

/**
 * Loads the model once, in the first turn. A turn fails with unusable settings or a failed load.
 * After a failed load the next turn loads again.
 */
function modelSource(
  settings: Result<RuntimeSettings>,
  options: RuntimeOptions,
  host: Host,
): { readonly model: ModelSource; close(): Promise<void> } {
  let demo: Promise<DemoEndpoint> | undefined;
  let loaded: Promise<TurnModels> | undefined;

  function startDemo(
    { workspace, project }: Pick<RuntimeSettings, "workspace" | "project">,
  ): Promise<DemoEndpoint> {
    const { agent, home, tree } = options;
    const fleetctl = tree === undefined
      ? "fleetctl"
      : localCommandsFor(tree, options.env.FLEETCTL_ROOT ?? "/").verb;
    const cwd = workspace ?? home;
    return startDemoEndpoint({ agent, home, cwd, project: project ?? cwd, fleetctl }, host);
  }

  return {
    async model() {
      if (!settings.ok) return settings;
      const { model } = settings.value;
      if (model.provider === "demo") {
        demo ??= startDemo(settings.value).catch((fault) => {
          demo = undefined;
          throw fault;
        });
      }
      const endpoint = await demo;
      loaded ??= loadModels(model, host.http, endpoint).catch((fault) => {
        loaded = undefined;
        throw fault;
      });
      return ok(await loaded);
    },
    async close() {
      await (await demo)?.close();
    },
  };
}

async function loadModels(
  settings: ModelSettings,
  http: Host["http"],
  demo: DemoEndpoint | undefined,
): Promise<TurnModels> {
  const loaded = await loadModel(settings, http, demo);
  if (settings.fallback === undefined) return { loaded, settings };
  const other = { ...settings, model: settings.fallback };
  return { loaded, settings, fallback: { loaded: await loadModel(other, http), settings: other } };
}

function only(
  env: Readonly<Record<string, string>>,
  names: readonly string[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => names.includes(name)));
}

function without(
  env: Readonly<Record<string, string>>,
  names: readonly string[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));
}
