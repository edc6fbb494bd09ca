/**
 * A scene for tests with a real agent program: a scripted model endpoint, an empty home, and the
 * installed program behind the driver that its definition names.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { systemClock } from "core/os/clock.ts";
import { denoFiles } from "core/os/files.ts";
import { systemProcesses } from "core/os/processes.ts";
import { systemRandom } from "core/os/random.ts";
import type { AskMode } from "core/ledger/agent.ts";
import { pathsUnder } from "core/paths.ts";
import { createDriver } from "units/dial/runtimes/create_driver.ts";
import { fillPlaceholders, type RuntimeDefinition } from "core/runtimes/definition.ts";
import type { PermissionDecider } from "units/dial/runtimes/acp_permission.ts";
import type { McpLoad } from "core/runtimes/mcp_load.ts";
import { mcpEntriesPath } from "core/runtimes/mcp_entries.ts";
import type {
  Prompt,
  RuntimeDriver,
  RuntimeSession,
  RuntimeUpdate,
  TurnOutcome,
} from "units/dial/runtimes/driver.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { type FakeModel, hasNoTools, startFakeModel } from "tests/fakes/model_endpoint.ts";
import { editJson } from "units/render/json_edit.ts";
import { programFile, programPath, type RuntimeProgram } from "tests/support/runtime_programs.ts";

/** How long a program may take to end. */
const GRACE_MS = 10_000;

/** One finished turn. */
export interface ProgramTurn {
  readonly outcome: TurnOutcome;
  readonly updates: readonly RuntimeUpdate[];
  /** The assistant's complete messages, joined. */
  readonly text: string;
}

/** The scene that a test gets. */
export interface ProgramScene {
  readonly model: FakeModel;
  readonly home: string;
  readonly session: RuntimeSession;
  /** The driver that started the session. */
  readonly driver: RuntimeDriver;
  /** Load states of the MCPs, one list for each report of the program. */
  readonly reports: readonly (readonly McpLoad[])[];
  /** Runs a turn and collects its updates; `on` gets each when it arrives. */
  turn(
    message: string | Omit<Prompt, "turnId">,
    on?: (update: RuntimeUpdate) => unknown,
  ): Promise<ProgramTurn>;
  /**
   * Starts the program again after it has ended; later turns run in the new one, in a conversation
   * of this name, or in the default one, and in `folder` instead of the workspace.
   */
  restart(conversation?: string, folder?: string): Promise<void>;
  /** Ends the program. */
  end(): Promise<void>;
}

/** Options of the scene. */
export interface SceneOptions {
  /** Entries of the client config, by name. */
  readonly mcps?: Readonly<Record<string, unknown>>;
  /** Writes files into the home before the program starts; returns more entries of the config. */
  readonly furnish?: (home: string) => Promise<Readonly<Record<string, unknown>>>;
  /** Keys of the runtime definition that differ from the shipped ones. */
  readonly definition?: Partial<RuntimeDefinition>;
  /** Additions to the program's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Creates the program's working folder below the home; when absent, the program works in the
   * home.
   */
  readonly workdir?: (home: string) => Promise<string>;
  /** Mode in the agent's record; the program gets it as from its unit. */
  readonly ask?: AskMode;
  /** Decides permissions; everything is denied when absent. */
  readonly decidePermission?: PermissionDecider;
}

/** Runs a test with the program. */
export async function withProgram(
  program: RuntimeProgram,
  work: (scene: ProgramScene) => Promise<void>,
  options: SceneOptions = {},
): Promise<void> {
  const { mcps = {}, workdir = (home) => Promise.resolve(home), env: more = {} } = options;
  const { decidePermission, ask, definition: changes } = options;
  const model = await startFakeModel(hasNoTools);
  const home = await Deno.makeTempDir({ prefix: "fleetctl-program-" });
  try {
    const reports: (readonly McpLoad[])[] = [];
    const env = await program.connect({ root: home, home, url: new URL(model.baseUrl).origin });
    const definition = { ...program.definition(), command: programFile(program), ...changes };
    await writeClientConfig(definition, home, { ...mcps, ...await options.furnish?.(home) });
    const driver = createDriver(definition, {
      processes: systemProcesses(),
      files: denoFiles(),
      clock: systemClock(),
      random: systemRandom(),
      log: recordingLog(),
    }, {
      agent: "ada",
      home,
      paths: pathsUnder(home),
      stateDir: `${home}/dial`,
      workdir: await workdir(home),
      onMcps: (loads) => reports.push(loads),
      ...defined({ decidePermission, ask }),
      env: { PATH: programPath(program), ...defined({ FLEETCTL_ASK: ask }), ...env, ...more },
    });
    let session = await driver.start();
    try {
      await work({
        model,
        home,
        session,
        driver,
        reports,
        turn: turnsOf(() => session),
        restart: async (conversation, folder) => {
          session = await driver.start(undefined, conversation, folder);
        },
        end: () => session.close(GRACE_MS),
      });
    } finally {
      await session.close(GRACE_MS);
    }
  } finally {
    await model.close();
    await Deno.remove(home, { recursive: true });
  }
}

/** Writes the client config as `apply` does: in the file and under the keys of the definition. */
async function writeClientConfig(
  { clientConfig: { path, shape } }: RuntimeDefinition,
  home: string,
  mcps: Readonly<Record<string, unknown>>,
): Promise<void> {
  const file = fillPlaceholders(path, { lib: "", home, agent: "ada" });
  // Without an exposure, only scripts of the model can use tools of this shape.
  const exposed = shape === "runtime-b" ? { exposure: "direct" } : {};
  const entries = Object.entries(mcps)
    .map(([name, entry]) => [name, { ...exposed, ...entry as object }] as const);
  const text = editJson(undefined, mcpEntriesPath(shape, home), new Map(entries));
  if (!text.ok) throw new Error(text.error.message);
  await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
  await Deno.writeTextFile(file, text.value);
}

function turnsOf(session: () => RuntimeSession): ProgramScene["turn"] {
  let turns = 0;
  return async (message, on) => {
    const updates: RuntimeUpdate[] = [];
    const prompt = typeof message === "string" ? { text: message } : message;
    const turnId = `turn-${++turns}`;
    const outcome = await session().prompt({ turnId, ...prompt }, async (update) => {
      updates.push(update);
      await on?.(update);
    });
    const messages = updates.filter((update) => update.kind === "message");
    return { outcome, updates, text: messages.map((message) => message.text).join("\n") };
  };
}
