/**
 * A call that asks, through every real process with its own permission set: denied and approved on
 * the command line, and by the owner in the cockpit behind the login proxy.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  makeRepository,
  makeRoot,
  runDev,
  runVerb,
  startUp,
  workspaceRepository,
} from "tests/support/up_process.ts";

interface Listed {
  readonly approvals: readonly {
    readonly id: string;
    readonly tool: string;
    readonly state: string;
    readonly arguments: Readonly<Record<string, unknown>>;
  }[];
}

/** Waits until a call of ada has a pending approval. */
async function untilAsked(root: string, isOver: () => boolean): Promise<string> {
  while (!isOver()) {
    const listed = await runVerb(root, ["approvals", "list", "--json"]);
    const { approvals } = JSON.parse(listed.stdout) as Listed;
    const [first] = approvals;
    if (first !== undefined) return first.id;
  }
  throw new Error("the turn ended before anybody was asked");
}

Deno.test("a call that asks is denied or approved on a command line, and runs once", async () => {
  const root = await makeRoot();
  const repository = workspaceRepository(root);
  await makeRepository(repository, "first");
  await using up = startUp(root);
  await up.line(/^ready /);
  // A first turn starts the server, however long that takes.
  await runDev(["up", "--root", root, "--turn", `last commit of ${repository}`]);
  const call = `call git_tag ${
    JSON.stringify({ path: repository, mode: "create", tagName: "v1" })
  }`;
  const tags = async () => {
    const { stdout } = await new Deno.Command("git", { args: ["-C", repository, "tag"] }).output();
    return new TextDecoder().decode(stdout).trim();
  };
  for (const [verb, want] of [["deny", ""], ["approve", "v1"]] as const) {
    let isOver = false;
    const turn = runDev(["up", "--root", root, "--turn", call]).finally(() => isOver = true);
    const id = await untilAsked(root, () => isOver);
    // The agent that asks may not decide.
    const own = await runVerb(root, ["--as", "ada", "approvals", "approve", id]);
    assert.equal(own.code, 4, own.stderr);
    const reason = verb === "deny" ? ["--reason", "not on a Friday"] : [];
    const decided = await runVerb(root, ["approvals", verb, id, ...reason]);
    assert.equal(decided.code, 0, decided.stderr);
    const { stdout } = await turn;
    assert.match(stdout, verb === "deny" ? /denied it: not on a Friday/ : /completed in \d+ ms/);
    assert.equal(await tags(), want);
    const late = await runVerb(root, ["approvals", "deny", id]);
    assert.equal(late.code, 1, late.stdout);
  }
});
