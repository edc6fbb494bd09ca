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
  type AcpEditor,
  choosing,
  type PermissionHandler,
  startEditor,
} from "tests/support/acp_editor.ts";
import {
  makeRepository,
  makeRoot,
  plainEnv,
  processesOf,
  runVerb,
  startUp,
  workspaceRepository,
} from "tests/support/up_process.ts";

function openEditor(root: string, decide: PermissionHandler): Promise<AcpEditor> {
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

Deno.test("an editor opens an agent of the fleet", async (t) => {
  const root = await makeRoot();
  const repository = workspaceRepository(root);
  await makeRepository(repository, "first");
  await using up = startUp(root);
  await up.line(/^ready /);
  let decide = choosing("reject_once");
  const editor = await openEditor(root, (request, withdrawn) => decide(request, withdrawn));
  const sessionId = await editor.open();
  const tag = (name: string) =>
    `call git_tag ${JSON.stringify({ path: repository, mode: "create", tagName: name })}`;
  const tags = async () => {
    const { stdout } = await new Deno.Command("git", { args: ["-C", repository, "tag"] }).output();
    return new TextDecoder().decode(stdout).trim().split("\n");
  };

  await t.step("an answer arrives once, after the welcome", async () => {
    assert.equal(await editor.prompt(sessionId, "what can you do"), "end_turn");
    const turn = await runVerb(root, ["turn", "ada", "what can you do", "--json"]);
    const { answer } = JSON.parse(turn.stdout) as { answer: string };
    const [welcome = "", ...rest] = editor.said();
    assert.match(welcome, /^Agent "ada" on host "/);
    assert.equal(rest.join(""), answer);
  });

  await t.step("the editor rejects a call, and allows the next one once", async () => {
    assert.equal(await editor.prompt(sessionId, tag("v1")), "end_turn");
    assert.deepEqual(await tags(), [""]);
    const calls = editor.updates.filter(({ sessionUpdate }) => sessionUpdate === "tool_call");
    const shown = calls.at(-1);
    assert.ok(shown !== undefined && "title" in shown);
    assert.match(String(shown.title), /^git\.git_tag: /);
    decide = choosing("allow_once");
    assert.equal(await editor.prompt(sessionId, tag("v2")), "end_turn");
    assert.deepEqual(await tags(), ["v2"]);
    const listed = await runVerb(root, ["approvals", "list", "--all", "--json"]);
    const { approvals } = JSON.parse(listed.stdout) as {
      approvals: { decision: string; by: string; state: string }[];
    };
    assert.deepEqual(
      approvals.map(({ decision, by, state }) => [decision, by, state]).sort(),
      [["approved", "the operator", "applied"], ["denied", "the operator", "delivered"]],
    );
  });

  await t.step("a decision on the command line closes the editor's question", async () => {
    const asked = Promise.withResolvers<AbortSignal>();
    decide = async (_, withdrawn) => {
      asked.resolve(withdrawn);
      await new Promise((resolve) => withdrawn.addEventListener("abort", resolve));
      return { outcome: { outcome: "cancelled" } };
    };
    const answer = editor.prompt(sessionId, tag("v3"));
    const withdrawn = await asked.promise;
    const listed = await runVerb(root, ["approvals", "list", "--json"]);
    const { approvals: [first] } = JSON.parse(listed.stdout) as { approvals: { id: string }[] };
    const decided = await runVerb(root, ["approvals", "approve", first?.id ?? ""]);
    assert.equal(decided.code, 0, decided.stderr);
    assert.equal(await answer, "end_turn");
    assert.ok(withdrawn.aborted);
    assert.deepEqual(await tags(), ["v2", "v3"]);
  });

  const sleep = `call bash ${JSON.stringify({ command: "sleep 600" })}`;
  const isSleeping = (count: number) => () =>
    editor.updates.filter((update) =>
      update.sessionUpdate === "tool_call" && update.title.includes("sleep")
    ).length >= count;

  await t.step("the editor cancels a turn", async () => {
    const answer = editor.prompt(sessionId, sleep);
    await editor.update(isSleeping(1));
    await editor.agent.notify(methods.agent.session.cancel, { sessionId });
    assert.equal(await answer, "cancelled");
  });

  await t.step("a killed dial unit is an error, and the next prompt works", async () => {
    const answer = editor.prompt(sessionId, sleep);
    await editor.update(isSleeping(2));
    const unit = (await processesOf(root)).find((line) =>
      line.includes("units/dial/main.ts") && line.includes("agent-ada")
    );
    assert.ok(unit !== undefined, (await processesOf(root)).join("\n"));
    Deno.kill(Number.parseInt(unit), "SIGKILL");
    assert.match(await answer, /turn-unknown|Cannot determine how the turn ended/);
    let next = "";
    while (next !== "end_turn") {
      next = await editor.prompt(sessionId, "what can you do");
      assert.match(next, /^end_turn$|Cannot reach the agent's dial unit/);
    }
  });

  await t.step("a stopped agent is an error with the command that starts it", async () => {
    await runVerb(root, ["agents", "stop", "ada"]);
    const refused = await editor.prompt(sessionId, "hello");
    assert.match(refused, /stopped on purpose, must be started\nhint: .*agents start ada/);
    const started = await runVerb(root, ["agents", "start", "ada"]);
    assert.equal(started.code, 0, started.stderr);
    assert.equal(await editor.prompt(sessionId, "what can you do"), "end_turn");
  });

  await t.step("an editor that leaves cancels nothing", async () => {
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
  });
});
