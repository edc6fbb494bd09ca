/**
 * The main path through real processes, each with its own permission set: command line → gateway →
 * dial-in → runtime → gate → a real MCP server, and back.
 *
 * @module
 */

import assert from "node:assert/strict";
import { processesOf } from "tests/support/processes_of.ts";
import {
  makeRepository,
  makeRoot,
  runDev,
  runVerb,
  startUp,
  workspaceRepository,
} from "tests/support/up_process.ts";

Deno.test("up --turn prints the real hash and subject of a new repository", async () => {
  const root = await makeRoot();
  const repository = workspaceRepository(root);
  const subject = `subject ${crypto.randomUUID()}`;
  const hash = await makeRepository(repository, subject);
  const up = ["up", "--root", root, "--port-base", "0"];
  const first = await runDev([...up, "--turn", `last commit of ${repository}`]);
  assert.equal(first.code, 0, first.stdout + first.stderr);
  const answer = first.stdout.split("\n").filter((line) => line.startsWith("ada: ")).join("\n");
  assert.ok(answer.includes(hash.slice(0, 7)), first.stdout);
  assert.ok(answer.includes(subject), first.stdout);
  assert.match(first.stdout, /→ git\.git_log \{.*"path":/);
  assert.match(first.stdout, /← completed in \d+ ms/);
  assert.deepEqual(await processesOf(root), [], "a process was left behind");

  // The second commit proves that no result of the first run is reused.
  const second = `second ${crypto.randomUUID()}`;
  await new Deno.Command("git", {
    args: ["-C", repository, "-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-q"]
      .concat(["--allow-empty", "-m", second]),
  }).output();
  const again = await runDev([...up, "--turn", `last commit of ${repository}`]);
  assert.equal(again.code, 0, again.stdout + again.stderr);
  assert.ok(again.stdout.includes(second), again.stdout);
});

Deno.test("up starts every part, verbs work beside it, and Ctrl-C stops every child", async () => {
  const root = await makeRoot();
  await using up = startUp(root);
  await up.line(/^ready /);
  const printed = up.text();
  for (const part of ["daemon", "gateway", "dial-ada", "dial-bea", "mcp-git-ada"]) {
    assert.ok(printed.includes(part), `no line for ${part}:\n${printed}`);
  }
  const version = await runVerb(root, ["--version"]);
  assert.match(version.stdout, /^fleetctl \d+\.\d+\.\d+/);

  const agents = await runVerb(root, ["agents", "list", "--json"]);
  assert.equal(agents.code, 0, agents.stderr);
  assert.deepEqual(
    (JSON.parse(agents.stdout) as { agents: { name: string }[] }).agents.map((a) => a.name),
    ["ada", "bea"],
  );
  const wired = await runVerb(root, ["mcp", "wired", "ada", "--json"]);
  assert.equal(wired.code, 0, wired.stderr);
  assert.match(wired.stdout, /"git"/);

  const turn = await runDev(["up", "--root", root, "--turn", "what can you do"]);
  assert.equal(turn.code, 0, turn.stdout + turn.stderr);
  assert.match(turn.stdout, /demo/i);
  assert.match(turn.stdout, /git_log/);

  const unknown = await runDev(["up", "--root", root, "--turn", "hello", "--agent", "nobody"]);
  assert.equal(unknown.code, 1, unknown.stdout);
  assert.match(unknown.stderr, /"nobody"/);
  assert.match(unknown.stderr, /^hint: /m);

  assert.equal(await up.stop(), 0, up.text());
  assert.deepEqual(await processesOf(root), [], "a process was left behind");
});
