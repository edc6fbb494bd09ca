/**
 * Runs one task with the real runtime program in a new home, against a scripted model or a real
 * one, and checks the result.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { systemClock } from "core/os/clock.ts";
import type { RuntimeUpdate } from "units/dial/runtimes/driver.ts";
import { type FakeModel, hasNoTools, startFakeModel } from "tests/fakes/model_endpoint.ts";
import type { CallEnd, EvalTask, ScriptStep, TaskEnd } from "tests/eval/task.ts";
import {
  inHome,
  type RuntimeProcess,
  startRuntime,
  type TurnRecord,
  writeClientConfig,
} from "tests/support/runtime_process.ts";
import { GRACE_MS, of } from "tests/support/runtime_scene.ts";

/** A real model, reached with the runtime's own settings. */
export interface RealModel {
  /** `FLEETCTL_PROVIDER`, `FLEETCTL_MODEL`, the key and the base URL, if any. */
  readonly env: Readonly<Record<string, string>>;
  /** `host:port` of its endpoint. */
  readonly host: string;
}

/** The result of a task. */
export interface TaskResult {
  readonly task: string;
  /** What is wrong; undefined when the task is done. */
  readonly fault: string | undefined;
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Wall time of its turns. */
  readonly ms: number;
}

/** Time limit of one turn. */
const TURN_MS_MAX = 600_000;
const TREE = fileURLToPath(new URL("../../", import.meta.url));

/** Runs a task with the scripted model; `script` is that of the task unless another is given. */
export async function runScripted(
  task: EvalTask,
  script: readonly ScriptStep[] = task.script,
): Promise<TaskResult> {
  // The request for a summary declares no tools. It takes no step of the script.
  const model = await startFakeModel(hasNoTools);
  try {
    model.script(...script);
    const env = {
      FLEETCTL_PROVIDER: "openai-compatible",
      FLEETCTL_MODEL: "scripted",
      FLEETCTL_BASE_URL: model.baseUrl,
      FLEETCTL_MODEL_KEY: "key-0123456789",
    };
    return await runTask(task, { env, host: "127.0.0.1" }, model);
  } finally {
    await model.close();
  }
}

/** Runs a task with a real model. */
export async function runReal(task: EvalTask, model: RealModel): Promise<TaskResult> {
  return await runTask(task, model, undefined);
}

async function runTask(
  task: EvalTask,
  model: RealModel,
  scripted: FakeModel | undefined,
): Promise<TaskResult> {
  let result: TaskResult | undefined;
  await inHome(async (home) => {
    const workspace = `${home}/workspace`;
    await writeFiles(workspace, task.files);
    await writeClientConfig(home, serversOf(task, home));
    const env = { ...model.env, ...task.env, FLEETCTL_WORKSPACE: workspace };
    const runtime = await startRuntime(home, env, model.host, workspace);
    try {
      const { turns, ms } = await runTurns(runtime, task.prompts);
      const last = turns.at(-1);
      const failed = turns.find(({ outcome }) => outcome.outcome !== "completed")?.outcome;
      const updates = turns.flatMap((turn) => turn.updates);
      const done: TaskEnd = {
        workspace,
        answer: last?.text ?? "",
        calls: callsOf(updates),
        changes: (server) => changesIn(logOf(home, server)),
        read: (path) => readIfThere(`${workspace}/${path}`),
        requests: scripted?.requests,
      };
      const fault = failed === undefined
        ? await task.check(done)
        : `a turn was ${failed.outcome}: ${failed.reason ?? failed.code ?? "no reason"}`;
      result = { task: task.name, fault, calls: done.calls.length, ms, ...tokensOf(updates) };
    } finally {
      await runtime.session.close(GRACE_MS);
    }
  });
  if (result === undefined) throw new Error("the task has no result");
  return result;
}

/** Runs the turns one after another; ends after one that was not completed. */
async function runTurns(runtime: RuntimeProcess, prompts: readonly string[]) {
  const clock = systemClock();
  const turns: TurnRecord[] = [];
  const beginMs = clock.monotonic();
  for (const prompt of prompts) {
    const isOver = new AbortController();
    void clock.sleep(TURN_MS_MAX, isOver.signal)
      .then(() => isOver.signal.aborted ? undefined : runtime.session.cancel(), () => {});
    const turn = await runtime.turn(prompt);
    isOver.abort();
    turns.push(turn);
    if (turn.outcome.outcome !== "completed") break;
  }
  return { turns, ms: clock.monotonic() - beginMs };
}

async function writeFiles(
  folder: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    const at = `${folder}/${path}`;
    await Deno.mkdir(at.slice(0, at.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(at, text);
  }
}

function serversOf(task: EvalTask, home: string): Readonly<Record<string, unknown>> {
  const program = `${TREE}tests/eval/office_server.ts`;
  return Object.fromEntries((task.servers ?? []).map((server) => [server, {
    command: Deno.execPath(),
    args: [
      "run",
      "-q",
      "--cached-only",
      "--allow-all",
      `--config=${TREE}deno.json`,
      program,
      server,
      logOf(home, server),
    ],
    env: { DENO_DIR: Deno.env.get("DENO_DIR") ?? "" },
  }]));
}

function logOf(home: string, server: string): string {
  return `${home}/${server}.jsonl`;
}

async function changesIn(log: string): Promise<readonly unknown[]> {
  const text = await readIfThere(log) ?? "";
  return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotFound) return undefined;
    throw thrown;
  }
}

function callsOf(updates: readonly RuntimeUpdate[]): readonly CallEnd[] {
  const statuses = new Map(of(updates, "tool_result").map((end) => [end.callId, end.status]));
  const calls = new Map(of(updates, "tool_call").map((call) => [call.callId, call]));
  return [...calls.values()].map(({ callId, mcp, tool }) => ({
    mcp,
    tool,
    status: statuses.get(callId) ?? "open",
  }));
}

function tokensOf(updates: readonly RuntimeUpdate[]) {
  const models = of(updates, "usage").flatMap((usage) => usage.models);
  const sum = (pick: (of: typeof models[number]) => number) =>
    models.reduce((total, model) => total + pick(model), 0);
  return {
    inputTokens: sum((of) => of.inputTokens + of.cachedReadTokens + of.cachedWriteTokens),
    outputTokens: sum((of) => of.outputTokens),
  };
}
