/**
 * An editor before `fleetctl acp`, through every real process with its own permission set: answers,
 * calls that wait for the editor's decision, cancels, a stopped agent, a killed dial unit, and an
 * editor that leaves.
 *
 * @module
 */

import assert from "node:assert/strict";
import { methods } from "@agentclientprotocol/sdk";
import { TREE } from "tests/support/module_graph.ts";
import {
  choosing,
  type PermissionHandler,
  type StartedEditor,
  startEditor,
} from "tests/support/acp_editor.ts";
import { processesOf } from "tests/support/processes_of.ts";
import {
  makeRepository,
  makeRoot,
  plainEnv,
  runVerb,
  startUp,
  workspaceRepository,
} from "tests/support/up_process.ts";

/** A root with `up`, and an editor that has opened a thread with ada. */
interface Scene {
  readonly root: string;
  readonly repository: string;
  readonly editor: StartedEditor;
  readonly sessionId: string;
  /** Decides about the following permission requests. */
  setDecider(decide: PermissionHandler): void;
}

function openEditor(root: string, decide: PermissionHandler): Promise<StartedEditor> {
  const command = new Deno.Command(`${TREE}dev`, {
    args: ["run", "fleetctl", "acp", "ada"],
    clearEnv: true,
    env: plainEnv({ FLEETCTL_ROOT: root }),
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  });
  return startEditor(command, decide);
}

const SLEEP = `call bash ${JSON.stringify({ command: "sleep 600" })}`;

/** Returns the prompt that makes the agent tag its repository; that tool asks first. */
function tagging({ repository }: Scene, name: string): string {
  return `call git_tag ${JSON.stringify({ path: repository, mode: "create", tagName: name })}`;
}

async function tags({ repository }: Scene): Promise<readonly string[]> {
  const { stdout } = await new Deno.Command("git", { args: ["-C", repository, "tag"] }).output();
  return new TextDecoder().decode(stdout).trim().split("\n");
}

async function answersOnce({ root, editor, sessionId }: Scene): Promise<void> {
  assert.equal(await editor.prompt(sessionId, "what can you do"), "end_turn");
  const turn = await runVerb(root, ["turn", "ada", "what can you do", "--json"]);
  const { answer } = JSON.parse(turn.stdout) as { answer: string };
  const [welcome = "", ...rest] = editor.texts();
  assert.match(welcome, /^Agent "ada" on host "/);
  assert.ok(rest.length > 1, "the answer grows");
  assert.equal(rest.join(""), answer);
}

async function decidesInEditor(scene: Scene): Promise<void> {
  const { root, editor, sessionId, setDecider } = scene;
  setDecider(choosing("reject_once"));
  assert.equal(await editor.prompt(sessionId, tagging(scene, "v1")), "end_turn");
  assert.deepEqual(await tags(scene), [""]);
  const shown = editor.updates.findLast(({ sessionUpdate }) => sessionUpdate === "tool_call");
  assert.ok(shown !== undefined && "title" in shown);
  assert.match(String(shown.title), /^git\.git_tag: /);
  setDecider(choosing("allow_once"));
  assert.equal(await editor.prompt(sessionId, tagging(scene, "v2")), "end_turn");
  assert.deepEqual(await tags(scene), ["v2"]);
  const listed = await runVerb(root, ["approvals", "list", "--all", "--json"]);
  const { approvals } = JSON.parse(listed.stdout) as {
    approvals: { decision: string; by: string; state: string }[];
  };
  assert.deepEqual(
    approvals.map(({ decision, by, state }) => [decision, by, state]).sort(),
    [["approved", "the operator", "applied"], ["denied", "the operator", "delivered"]],
  );
}

async function decidesElsewhere(scene: Scene): Promise<void> {
  const { root, editor, sessionId, setDecider } = scene;
  const asked = Promise.withResolvers<AbortSignal>();
  setDecider(async (_, withdrawn) => {
    asked.resolve(withdrawn);
    await new Promise((resolve) => withdrawn.addEventListener("abort", resolve));
    return { outcome: { outcome: "cancelled" } };
  });
  const answer = editor.prompt(sessionId, tagging(scene, "v3"));
  const withdrawn = await asked.promise;
  const listed = await runVerb(root, ["approvals", "list", "--json"]);
  const { approvals: [first] } = JSON.parse(listed.stdout) as { approvals: { id: string }[] };
  const decided = await runVerb(root, ["approvals", "approve", first?.id ?? ""]);
  assert.equal(decided.code, 0, decided.stderr);
  assert.equal(await answer, "end_turn");
  assert.ok(withdrawn.aborted);
  assert.deepEqual(await tags(scene), ["v2", "v3"]);
}

/** The program is started again with the other thread's conversation, and with the first again. */
async function keepsThreadsApart({ root, editor, sessionId }: Scene): Promise<void> {
  const other = await editor.open();
  for (const thread of [other, sessionId, other]) {
    assert.equal(await editor.prompt(thread, "what can you do"), "end_turn");
  }
  const names = [sessionId, other].map((id) => id.replace(/^ada\//, ""));
  const kept = await Array.fromAsync(Deno.readDir(`${root}/home/ada/.fleetctl/dial/sessions`));
  assert.deepEqual(
    kept.map(({ name }) => name.replace(/\.json$/, "")).sort(),
    names.sort(),
  );
  await editor.agent.request(methods.agent.session.close, { sessionId: other });
  assert.match(String(await editor.prompt(other, "hello")), /not found/i);
  await editor.agent.request(methods.agent.session.resume, { sessionId: other, cwd: "/p" });
  assert.equal(await editor.prompt(other, "what can you do"), "end_turn");
}

/** Resolves when the agent has run the sleeping command so many times. */
async function untilAsleep({ editor }: Scene, count: number): Promise<void> {
  await editor.update(() =>
    editor.updates.filter((update) =>
      update.sessionUpdate === "tool_call" && update.title.includes("sleep 600")
    ).length >= count
  );
}

async function cancels(scene: Scene): Promise<void> {
  const { editor, sessionId } = scene;
  const answer = editor.prompt(sessionId, SLEEP);
  await untilAsleep(scene, 1);
  await editor.agent.notify(methods.agent.session.cancel, { sessionId });
  assert.equal(await answer, "cancelled");
}

async function survivesDialUnit(scene: Scene): Promise<void> {
  const { root, editor, sessionId } = scene;
  const answer = editor.prompt(sessionId, SLEEP);
  await untilAsleep(scene, 2);
  const running = await processesOf(root);
  const unit = running.find((line) =>
    line.includes("units/dial/main.ts") && line.includes("agent-ada")
  );
  assert.ok(unit !== undefined, running.join("\n"));
  Deno.kill(Number.parseInt(unit), "SIGKILL");
  assert.match(String(await answer), /Cannot determine how the turn ended/);
  let next = "";
  while (next !== "end_turn") {
    next = String(await editor.prompt(sessionId, "what can you do"));
    assert.match(next, /^end_turn$|Cannot reach the agent's dial unit/);
  }
}

async function stopsAndStarts({ root, editor, sessionId }: Scene): Promise<void> {
  await runVerb(root, ["agents", "stop", "ada"]);
  const refused = await editor.prompt(sessionId, "hello");
  assert.match(String(refused), /stopped on purpose, must be started\nhint: .*agents start ada/);
  const started = await runVerb(root, ["agents", "start", "ada"]);
  assert.equal(started.code, 0, started.stderr);
  assert.equal(await editor.prompt(sessionId, "what can you do"), "end_turn");
}

async function leaves({ root, editor, sessionId }: Scene): Promise<void> {
  const folder = `${root}/home/ada/workspace`;
  const waiting = "touch begun; while [ ! -e go ]; do sleep 0.1; done; touch done";
  const command = `cd ${folder} && ${waiting}`;
  void editor.prompt(sessionId, `call bash ${JSON.stringify({ command })}`);
  await editor.update((update) =>
    update.sessionUpdate === "tool_call" && update.title.includes("begun")
  );
  const { code, stderr } = await editor.close();
  assert.deepEqual([code, stderr], [0, ""]);
  await Deno.writeTextFile(`${folder}/go`, "");
  // This turn queues behind the one that the editor left.
  const next = await runVerb(root, ["turn", "ada", "what can you do"]);
  assert.equal(next.code, 0, next.stderr);
  assert.ok((await Deno.stat(`${folder}/done`)).isFile);
}

const STEPS: readonly (readonly [string, (scene: Scene) => Promise<void>])[] = [
  ["an answer arrives once, after the welcome", answersOnce],
  ["the editor rejects a call, and allows the next one once", decidesInEditor],
  ["a decision on the command line closes the editor's question", decidesElsewhere],
  ["two threads are two conversations", keepsThreadsApart],
  ["the editor cancels a turn", cancels],
  ["a killed dial unit is an error, and the next prompt works", survivesDialUnit],
  ["a stopped agent is an error with the command that starts it", stopsAndStarts],
  ["an editor that leaves cancels nothing", leaves],
];

Deno.test("an editor opens an agent of the fleet", async (t) => {
  const root = await makeRoot();
  const repository = workspaceRepository(root);
  await makeRepository(repository, "first");
  await using up = startUp(root);
  await up.line(/^ready /);
  let decide = choosing("reject_once");
  const setDecider = (next: PermissionHandler) => {
    decide = next;
  };
  const editor = await openEditor(root, (request, withdrawn) => decide(request, withdrawn));
  const sessionId = await editor.open();
  const scene: Scene = { root, repository, editor, sessionId, setDecider };
  for (const [name, step] of STEPS) await t.step(name, () => step(scene));
});
