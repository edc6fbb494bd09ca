/**
 * The real runtime as a real process, driven by the real ACP driver, in a separate home. It has the
 * permissions of the set `runtime` for an endpoint on loopback.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import type { Child } from "core/ports/processes.ts";
import { pathsUnder } from "core/paths.ts";
import { systemClock } from "core/os/clock.ts";
import { denoFiles } from "core/os/files.ts";
import { systemProcesses } from "core/os/processes.ts";
import { systemRandom } from "core/os/random.ts";
import { createDriver } from "units/dial/runtimes/create_driver.ts";
import { shippedDefinitions } from "core/runtimes/definitions.ts";
import type {
  Prompt,
  RuntimeSession,
  RuntimeUpdate,
  TurnOutcome,
} from "units/dial/runtimes/driver.ts";
import { type RecordingLog, recordingLog } from "tests/fakes/log.ts";

const TREE = fileURLToPath(new URL("../../", import.meta.url));
const DENO = Deno.execPath();

/** A started runtime and its parts that a test inspects. */
export interface RuntimeProcess {
  readonly session: RuntimeSession;
  /** The process itself, for `kill -9`. */
  readonly child: Child;
  readonly log: RecordingLog;
  /**
   * Runs a turn and collects its updates; `on` gets each when it arrives. The id of an earlier turn
   * continues it.
   */
  turn(
    message: string | Omit<Prompt, "turnId">,
    on?: (update: RuntimeUpdate) => void,
    turnId?: string,
  ): Promise<TurnRecord>;
}

/** One finished turn. */
export interface TurnRecord {
  readonly outcome: TurnOutcome;
  readonly updates: readonly RuntimeUpdate[];
  /** The assistant's complete messages, joined. */
  readonly text: string;
}

/**
 * Returns the runtime's command line, from the tree, and the minimal environment that it needs.
 * `net` is the host of its endpoint.
 */
export function runtimeCommand(net = "127.0.0.1") {
  return {
    command: DENO,
    args: [
      "run",
      "-q",
      "--no-prompt",
      "--cached-only",
      `--config=${TREE}deno.json`,
      "--allow-read",
      "--allow-write",
      "--allow-run",
      "--allow-env",
      "--allow-sys",
      `--allow-net=${net}`,
      `${TREE}units/agent_loop/main.ts`,
    ],
    env: {
      PATH: "/usr/local/bin:/usr/bin:/bin",
      DENO_DIR: Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`,
    },
  };
}

/**
 * Starts the runtime of agent `ada` in `home`; a second start in the same home resumes. `net` is
 * the host of its endpoint, if it is not on loopback; `workdir` its working folder, if not `home`.
 */
export async function startRuntime(
  home: string,
  env: Readonly<Record<string, string>> = {},
  net?: string,
  workdir = home,
): Promise<RuntimeProcess> {
  const definition = shippedDefinitions().get("runtime-b");
  if (definition === undefined) throw new Error("runtime-b is not shipped");
  const children: Child[] = [];
  const processes = systemProcesses();
  const log = recordingLog();
  const run = runtimeCommand(net);
  const created = createDriver(
    {
      ...definition,
      command: run.command,
      args: run.args,
    },
    {
      processes: {
        ...processes,
        spawn: async (spec) => {
          const child = await processes.spawn(spec);
          children.push(child);
          return child;
        },
      },
      files: denoFiles(),
      clock: systemClock(),
      random: systemRandom(),
      log,
    },
    {
      agent: "ada",
      home,
      paths: pathsUnder(home),
      stateDir: home,
      env: { ...run.env, ...env },
      workdir,
    },
  );
  const session = await created.start();
  const child = children[0];
  if (child === undefined) throw new Error("nothing was started");
  return {
    session,
    child,
    log,
    async turn(message, on, turnId = crypto.randomUUID()) {
      const prompt = typeof message === "string" ? { text: message } : message;
      const updates: RuntimeUpdate[] = [];
      const outcome = await session.prompt({ turnId, ...prompt }, (update) => {
        updates.push(update);
        on?.(update);
        return Promise.resolve();
      });
      const messages = updates.filter((update) => update.kind === "message");
      return { outcome, updates, text: messages.map((message) => message.text).join("\n") };
    },
  };
}

/** Runs `work` in a new home and removes it afterwards. */
export async function inHome(work: (home: string) => Promise<void>): Promise<void> {
  const home = await Deno.makeTempDir({ prefix: "fleetctl-runtime-" });
  try {
    await work(home);
  } finally {
    await Deno.remove(home, { recursive: true });
  }
}

/** Writes the client config of runtime-b: servers by name. */
export async function writeClientConfig(
  home: string,
  servers: Readonly<Record<string, unknown>>,
): Promise<void> {
  await Deno.mkdir(`${home}/.runtime-b/agent`, { recursive: true });
  await Deno.writeTextFile(
    `${home}/.runtime-b/agent/mcp.json`,
    JSON.stringify({ mcpServers: servers }),
  );
}

/** Returns the client-config entry of the fixture server. */
export function fixtureServer(env: Readonly<Record<string, string>> = {}) {
  return {
    command: DENO,
    args: [
      "run",
      "-q",
      "--cached-only",
      "--allow-all",
      `--config=${TREE}deno.json`,
      `${TREE}tests/support/mcp_fixture.ts`,
    ],
    env: { DENO_DIR: Deno.env.get("DENO_DIR") ?? "", ...env },
  };
}
