/**
 * A third-party agent program behind the product's own components: the dial unit as a process with
 * its own permissions, the MCP proxy as the program starts it, and a server that records its calls.
 *
 * @module
 */

import assert from "node:assert/strict";
import { runLocalTurn } from "cli/ask_turn.ts";
import { sendAnswer } from "cli/questions/queries.ts";
import { sendDecision } from "core/dial/ask_human.ts";
import { defined } from "core/defined.ts";
import { query } from "core/dial/local_query.ts";
import { systemClock } from "core/os/clock.ts";
import { connectUnix } from "core/os/connect_unix.ts";
import { LIBC_PATHS } from "core/os/libc.ts";
import { pathsUnder } from "core/paths.ts";
import type { AskMode } from "core/ledger/agent.ts";
import type { AgentName } from "core/names.ts";
import { fillPlaceholders } from "core/runtimes/definition.ts";
import { mcpEntriesPath } from "core/runtimes/mcp_entries.ts";
import { type FakeModel, hasNoTools, startFakeModel } from "tests/fakes/model_endpoint.ts";
import { echoServer, type ServerBehavior, serveUnix, type Wire } from "tests/support/mcp_proxy.ts";
import { TREE } from "tests/support/module_graph.ts";
import { startReady } from "tests/support/ready_process.ts";
import { programFile, programPath, type RuntimeProgram } from "tests/support/runtime_programs.ts";
import { editJson } from "units/render/json_edit.ts";

const AGENT = "ada" as AgentName;
const socketOf = (root: string) => pathsUnder(root).agentMcpSocket("bench", AGENT);

/** A durable event of a turn. */
export interface GatedEvent {
  readonly kind: string;
  // deno-lint-ignore no-explicit-any -- a test inspects the payloads of all kinds.
  readonly payload: any;
}

/** The answer to an approval. */
export interface Verdict {
  readonly decision: "approved" | "denied";
  readonly reason?: string;
}

/** The answer to a question. */
export type Answer = Pick<Parameters<typeof sendAnswer>[1], "action" | "values">;

/** A person who decides about approvals and answers questions; without one, none is expected. */
export interface Person {
  /** Undefined leaves the approval undecided. */
  readonly decide?: (asked: GatedEvent["payload"]) => Verdict | undefined;
  /** Undefined cancels the turn instead. */
  readonly answer?: (asked: GatedEvent["payload"]) => Answer | undefined;
  /** How the turn ends; `completed` when absent, or `cancelled` after a cancel. */
  readonly ends?: "interrupted";
}

/** The scene that a test gets. */
export interface GatedScene {
  readonly model: FakeModel;
  readonly home: string;
  /** Folder in which the program works. */
  readonly workspace: string;
  /** Names and arguments of the calls that reached the server, in order. */
  readonly executed: readonly Wire[];
  /** Runs a turn to its end; `decide` answers each approval that the turn opens. */
  turn(text: string, decide?: () => Verdict): Promise<readonly GatedEvent[]>;
  /** States of all questions, the newest first. */
  questionStates(): Promise<readonly string[]>;
  /** Runs a turn to its end while a person answers its questions. */
  turnWith(text: string, person: Person): Promise<readonly GatedEvent[]>;
  /** Changes the rules of the server `bench` while everything runs. */
  rule(rules: Readonly<Record<string, string>>): Promise<void>;
  /** Kills the program. */
  killProgram(): Promise<void>;
  /** Ends the dial unit and its program, and starts both again. */
  restart(): Promise<void>;
}

/** Initial rules of the server. */
const RULES = { write: "ask", wipe: "block" };
const gateText = (rules: Readonly<Record<string, string>>) =>
  JSON.stringify({ mcp: "bench", version: "1.0.0", rules });

/**
 * Runs a test with the program. The server `bench` has `look`, `write` (needs approval) and `wipe`
 * (blocked); it echoes each call unless another behavior is given.
 */
export async function withGatedProgram(
  program: RuntimeProgram,
  work: (scene: GatedScene) => Promise<void>,
  { behavior = echoServer, ask }: {
    readonly behavior?: ServerBehavior;
    /** Mode in the agent's record. */
    readonly ask?: AskMode;
  } = {},
): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "fc-" });
  const paths = pathsUnder(root);
  const home = paths.home(AGENT);
  const workspace = `${home}/workspace`;
  const model = await startFakeModel(hasNoTools);
  const executed: Wire[] = [];
  for (const folder of [`${root}/run/mcp`, workspace]) {
    await Deno.mkdir(folder, { recursive: true });
  }
  const server = serveUnix(socketOf(root), (message, connection) => {
    if (message.method === "tools/call") executed.push(message.params);
    return behavior(message, connection);
  });
  try {
    const env = await prepare(program, { root, home, url: new URL(model.baseUrl).origin });
    const rights = dialRights(program);
    const start = () =>
      startReady("units/dial/main.ts", {
        FLEETCTL_ROOT: root,
        FLEETCTL_AGENT: AGENT,
        FLEETCTL_RUNTIME: program.name,
        FLEETCTL_WORKSPACE: workspace,
        ...defined({ FLEETCTL_ASK: ask }),
        HOME: home,
        PATH: programPath(program),
        ...env,
      }, rights);
    let dial = await start();
    try {
      const socket = paths.dialSocket(AGENT);
      const at = { socket, connect: connectUnix, clock: systemClock() };
      await work({
        model,
        home,
        workspace,
        executed,
        turn: (text, decide) => runTurn(at, text, { ...defined({ decide }) }),
        questionStates: () => questionStates(at),
        turnWith: (text, person) => runTurn(at, text, person),
        rule: (rules) => Deno.writeTextFile(paths.gate("bench"), gateText(rules)),
        killProgram: () => killChildren(dial.pid),
        restart: async () => {
          await dial.kill("SIGTERM");
          dial = await start();
        },
      });
    } finally {
      await dial.kill("SIGTERM");
    }
  } finally {
    await server.close();
    await model.close();
    await Deno.remove(root, { recursive: true });
  }
}

/** The permissions of the dial unit. */
function dialRights(program: RuntimeProgram): string[] {
  return [
    "--allow-read",
    "--allow-write",
    "--allow-net",
    "--allow-env",
    "--allow-sys",
    `--allow-run=${programFile(program)}`,
    `--allow-ffi=${LIBC_PATHS[Deno.build.arch]}`,
  ];
}

type At = Parameters<typeof runLocalTurn>[0];

async function questionStates(at: At) {
  const answer = await query(at, { type: "questions" }, 1 << 20);
  assert.ok(answer.ok && answer.value.type === "questions_result");
  return answer.value.questions.map(({ state }) => state);
}

/** Kills the processes that a process has started, but not their children. */
async function killChildren(pid: number): Promise<void> {
  for await (const { name } of Deno.readDir(`/proc/${pid}/task`)) {
    const children = await Deno.readTextFile(`/proc/${pid}/task/${name}/children`);
    for (const child of children.split(" ").filter((id) => id !== "")) {
      Deno.kill(Number(child), "SIGKILL");
    }
  }
}

async function runTurn(at: At, text: string, { decide, answer, ends }: Person) {
  const events: GatedEvent[] = [];
  const stop = new AbortController();
  const ended = await runLocalTurn(at, { agent: AGENT, text, by: "the operator" }, {
    stop: stop.signal,
    async onUpdate(news) {
      if (news.type !== "turn_event") return;
      const { kind, payload } = news;
      events.push({ kind, payload });
      if (kind === "question_asked") {
        assert.ok(answer !== undefined, `no question is expected: ${JSON.stringify(payload)}`);
        const id = String(payload.question_id);
        const reply = answer(payload);
        if (reply === undefined) return stop.abort();
        const answered = await sendAnswer(at, { agent: AGENT, id, by: "the operator", ...reply });
        assert.ok(answered.ok, JSON.stringify(answered));
      }
      if (kind !== "approval_asked") return;
      assert.ok(decide !== undefined, `no question was expected: ${JSON.stringify(payload)}`);
      const { approval_id: id, digest } = payload as { approval_id: string; digest: string };
      const verdict = decide(payload);
      if (verdict === undefined) return;
      const decided = await sendDecision(at, { id, digest, by: "the operator", ...verdict });
      assert.ok(decided.ok, JSON.stringify(decided));
    },
  });
  assert.ok(ended.ok, JSON.stringify(ended));
  const wanted = ends ?? (stop.signal.aborted ? "cancelled" : "completed");
  assert.equal(ended.value.end.outcome, wanted, JSON.stringify(ended.value.end));
  return events;
}

/**
 * Writes what `apply` renders (gate, definition, proxy, client config) and the program's own files.
 */
async function prepare(
  program: RuntimeProgram,
  { root, home, url }: { readonly root: string; readonly home: string; readonly url: string },
): Promise<Readonly<Record<string, string>>> {
  const paths = pathsUnder(root);
  const write = async (path: string, text: string, mode = 0o600) => {
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(path, text, { mode });
  };
  await write(paths.gate("bench"), gateText(RULES));
  await write(`${paths.runtimesDir}/${program.name}.yaml`, `command: ${programFile(program)}\n`);
  const proxy = paths.program("fleetctl-mcp");
  const denoDir = Deno.env.get("DENO_DIR") ?? "";
  const deno = `env DENO_DIR='${denoDir}' '${Deno.execPath()}' run -q -A --no-check ` +
    `'${TREE}units/mcp/main.ts'`;
  await write(proxy, `#!/bin/sh\nexec ${deno} "$@"\n`, 0o755);
  const { path, shape } = program.definition().clientConfig;
  const entry = {
    command: proxy,
    args: ["proxy", "bench", "--socket", socketOf(root)],
    env: { FLEETCTL_ROOT: root, FLEETCTL_AGENT: AGENT },
    ...(shape === "runtime-b" ? { exposure: "direct" } : {}),
  };
  const text = editJson(undefined, mcpEntriesPath(shape, home), new Map([["bench", entry]]));
  assert.ok(text.ok);
  await write(fillPlaceholders(path, { lib: paths.lib, home, agent: AGENT }), text.value);
  return await program.connect({ root, home, url });
}
