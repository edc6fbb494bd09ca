/**
 * Calls on a host that wait for a human: who sees them, who decides, and the report when an agent's
 * approvals cannot be read. Each call is a real one under an agent's own user.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { ApprovalView } from "core/dial/local_frames.ts";
import { type Ended, poll } from "tests/support/booted_host.ts";
import { makeRepository } from "tests/support/packaged_host.ts";
import type { DaemonScene } from "tests/system/daemon/scene.ts";

const DIAL_ADA = "fleetctl-dial-ada.service";
const EXPIRING = "test-expiring.service";
const SOCKET = "/home/ada/.fleetctl/dial/local.sock";

/** A repository in the workspace of an agent. */
export function repositoryOf(agent: string): string {
  return `/home/${agent}/workspace/asked`;
}

/** A tool that the shipped catalog marks `risk: ask`, with a harmless effect. */
export function callOf(agent: string): readonly string[] {
  const args = JSON.stringify({ path: repositoryOf(agent), mode: "list" });
  return ["fleetctl", "mcp", "call", "git", "git_branch", "--args", args];
}

/** Root and an admin agent list, show and decide approvals; the agent itself sees its own. */
export async function approvals(scene: DaemonScene): Promise<void> {
  await makeRepository(scene, repositoryOf("ada"), "asked");
  await scene.must("fleetctl", "mcp", "add", "git", "ada");
  await scene.settled();
  assert.equal(await scene.must("fleetctl", "approvals", "list"), "No call waits for a human\n");
  await approvedByAdmin(scene);
  await deniedByRoot(scene);
}

async function approvedByAdmin(scene: DaemonScene): Promise<void> {
  const call = scene.run(callOf("ada"), { user: "ada" });
  const { id } = await untilAsked(scene);
  for (const user of ["root", "zoe", "ada"]) {
    const listed = await fleetctl(scene, user, ["approvals", "list"]);
    assert.match(listed.out, /^\S+ +ada +git git_branch +\S.* asked /m, `${user}: ${listed.err}`);
    const shown = await fleetctl(scene, user, ["approvals", "show", id.slice(0, 8)]);
    assert.match(shown.out, /"mode": "list"/, `${user}: ${shown.err}`);
  }
  // An agent sees only its own calls and decides none.
  for (const user of ["bob", "ada"]) {
    const ended = await fleetctl(scene, user, ["approvals", "approve", id]);
    assert.deepEqual([ended.code, ended.out], [4, ""], `${user}: ${ended.err}`);
  }
  const empty = await fleetctl(scene, "bob", ["approvals", "list"]);
  assert.equal(empty.out, 'No call of agent "bob" waits for a human\n', empty.err);
  assert.equal((await fleetctl(scene, "bob", ["approvals", "list", "ada"])).code, 4);
  assert.equal((await fleetctl(scene, "bob", ["approvals", "show", id])).code, 1);
  const decided = await fleetctl(scene, "zoe", ["approvals", "approve", id.slice(0, 8)]);
  assert.match(decided.out, /^approved: git git_branch of agent "ada"/, decided.err);
  const done = await call;
  assert.equal(done.code, 0, done.out + done.err);
  assert.match(done.out, /ma(in|ster)/);
  const shown = await scene.must("fleetctl", "approvals", "show", id);
  assert.match(shown, /^state +applied\ndecision +approved by admin agent "zoe" \(cli\)$/m);
}

async function deniedByRoot(scene: DaemonScene): Promise<void> {
  const call = scene.run(callOf("ada"), { user: "ada" });
  const { id } = await untilAsked(scene);
  const why = ["--reason", "not on a Friday"];
  const denied = await fleetctl(scene, "root", ["approvals", "deny", id, ...why]);
  assert.match(denied.out, /^denied: git git_branch of agent "ada"/, denied.err);
  const done = await call;
  assert.notEqual(done.code, 0, done.out);
  assert.match(done.out + done.err, /not on a Friday/);
  const again = await fleetctl(scene, "root", ["approvals", "approve", id]);
  assert.match(again.err, /it was already denied by the operator/);
}

/**
 * Begins a call of ada whose approval expires after the shortest time of the record. Returns a
 * function that waits until the call is denied for that; other steps can run meanwhile.
 */
export async function expiringCall(scene: DaemonScene): Promise<() => Promise<void>> {
  const setTime = async (time: string) => {
    await scene.must("fleetctl", "agents", "set", "ada", "--ask-time", time);
    await scene.must("fleetctl", "agents", "restart", "ada");
    await scene.settled();
  };
  await setTime("1m");
  // A program of the test may run for a minute only, so a unit of the host makes the call.
  const unit = ["systemd-run", "--quiet", "--uid=ada", `--unit=${EXPIRING}`, "--remain-after-exit"];
  const home = ["--setenv=HOME=/home/ada", "--setenv=USER=ada"];
  await scene.must(...unit, ...home, ...callOf("ada"));
  const { id, asked, expires } = await untilAsked(scene);
  assert.equal(expires - asked, 60_000);
  return async () => {
    const shown = await poll("an expired approval", async () => {
      const text = await scene.must("fleetctl", "approvals", "show", id);
      return /^state +asked$/m.test(text) ? undefined : text;
    });
    assert.match(shown, /^state +expired$/m);
    await poll("the denial at the caller", async () => {
      const text = await scene.must("journalctl", "-u", EXPIRING, "-o", "cat", "--no-pager");
      return text.includes("expired") ? true : undefined;
    });
    await scene.run(["systemctl", "stop", EXPIRING]);
    await setTime("");
  };
}

/** An unreadable list is never reported as an empty one. */
export async function unreadableApprovals(scene: DaemonScene): Promise<void> {
  const call = scene.run(callOf("ada"), { user: "ada" });
  const { id } = await untilAsked(scene);
  await scene.must("mv", SOCKET, `${SOCKET}.away`);
  for (
    const [words, says] of [
      [["approvals", "list"], "No call of the other agents waits for a human\n"],
      [["approvals", "list", "ada"], "Whether a call waits for a human is unknown\n"],
    ] as const
  ) {
    const ended = await fleetctl(scene, "root", words);
    assert.deepEqual([ended.code, ended.out], [1, says], ended.err);
    assert.match(ended.err, /Cannot read the approvals of agent "ada": its dial unit runs without/);
  }
  const shown = await fleetctl(scene, "root", ["approvals", "show", id]);
  assert.match(shown.err, /1 of 3 agents did not answer/);
  // A link leads root to another agent's dial unit, which answers for its own agent only.
  await scene.must("ln", "-s", "/home/bob/.fleetctl/dial/local.sock", SOCKET);
  const linked = await fleetctl(scene, "root", ["approvals", "show", id]);
  assert.match(linked.err, /Cannot find approval/);
  await scene.must("mv", "-T", `${SOCKET}.away`, SOCKET);
  await fleetctl(scene, "root", ["approvals", "deny", id]);
  await call;
  await scene.must("fleetctl", "agents", "stop", "ada");
  assert.equal(await scene.property(DIAL_ADA, "ActiveState"), "inactive");
  assert.equal(await scene.must("fleetctl", "approvals", "list"), "No call waits for a human\n");
  await scene.must("fleetctl", "agents", "start", "ada");
}

function fleetctl(scene: DaemonScene, user: string, words: readonly string[]): Promise<Ended> {
  return scene.run(["fleetctl", ...words], { user });
}

/** The one open approval of the host. */
export async function untilAsked(scene: DaemonScene): Promise<ApprovalView> {
  return await poll("a call that waits for a human", async () => {
    const { approvals } = JSON.parse(
      await scene.must("fleetctl", "approvals", "list", "--json"),
    ) as {
      readonly approvals: readonly ApprovalView[];
    };
    return approvals[0];
  });
}
