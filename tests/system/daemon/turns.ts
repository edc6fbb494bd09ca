/**
 * `fleetctl turn` on a host: who may send a turn to whom, and that the transcript names the caller.
 * Also an agent that no gateway knows, whose calls are decided like any other's.
 *
 * @module
 */

import assert from "node:assert/strict";
import { callOf, repositoryOf, untilAsked } from "tests/system/daemon/approvals.ts";
import { SAMPLES } from "tests/support/sample_images.ts";
import { makeRepository } from "tests/support/packaged_host.ts";
import type { DaemonScene } from "tests/system/daemon/scene.ts";

const SOCKET = "/home/ada/.fleetctl/dial/local.sock";
/** Sends a turn directly over the socket and prints the first answer. */
const FORGE = `
import json, socket
s = socket.socket(socket.AF_UNIX)
s.connect("${SOCKET}")
turn = {"type": "turn", "agent": "ada", "text": "x", "by": "the operator"}
s.sendall(json.dumps(turn).encode() + b"\\n")
print(s.recv(65536).decode())
`;

/** Users who may send a turn to ada, the name that they use for her, and their name as author. */
export const TURN_CALLERS = [
  ["root", "ada", "the operator"],
  ["zoe", "ada", 'admin agent "zoe"'],
  ["ada", "self", 'agent "ada"'],
] as const;

/** Returns the payload of the last `turn_asked` in ada's transcript. */
export async function lastAsked(scene: DaemonScene): Promise<unknown> {
  const { body } = await scene.askCockpit("ada@example.org", {
    method: "GET",
    path: "/api/transcript?agent=ada&limit=100",
  });
  const events = body.events as readonly { kind: string; payload: unknown }[];
  return events.findLast(({ kind }) => kind === "turn_asked")?.payload;
}

/** A file is read with the rights of its sender, by path or from stdin, and kept for the agent. */
async function files(scene: DaemonScene): Promise<void> {
  const make = `echo ${SAMPLES.gif.toBase64()} | base64 -d`;
  const run = (line: string, user: string) => scene.run(["sh", "-c", line], { user });
  for (const user of ["root", "zoe"]) {
    const piped = await run(`${make} | fleetctl turn ada --file - look`, user);
    assert.equal(piped.code, 0, `${user}: ${piped.err}`);
    assert.ok(piped.out.includes(": look\n  [image 1×1 GIF, 42 B: stdin.gif]\n"), piped.out);
  }
  const byPath = "fleetctl turn ada --file /tmp/dot.gif look";
  const read = await run(`${make} > /tmp/dot.gif; ${byPath}`, "root");
  assert.ok(read.out.includes("[image 1×1 GIF, 42 B: dot.gif]"), read.out + read.err);
  const kept = await run("stat -c '%U %a' /home/ada/.fleetctl/dial/files/*/1-dot.gif", "root");
  assert.equal(kept.out, "ada 600\n");
  const denied = await run(byPath, "zoe");
  assert.equal(denied.code, 2, denied.out);
  const hint = /hint: (fleetctl turn .*)/.exec(denied.err)?.[1] ?? "";
  assert.equal((await run(hint, "zoe")).code, 0, denied.err);
  const lying = await run(
    "echo text > /tmp/a.png; fleetctl turn ada --file /tmp/a.png x",
    "root",
  );
  assert.match(lying.err, /^fleetctl: Cannot attach the image "\/tmp\/a.png": its content is not/);
}

/** Root, an admin agent and the agent itself may send a turn; all others are refused. */
export async function turns(scene: DaemonScene): Promise<void> {
  await scene.settled();
  for (const [user, agent, author] of TURN_CALLERS) {
    const ended = await scene.run(["fleetctl", "turn", agent, `said by ${user}`], { user });
    assert.equal(ended.code, 0, `${user}: ${ended.err}`);
    assert.ok(ended.out.startsWith(`${author}: said by ${user}\n`), ended.out);
    assert.match(ended.out, /^ada: \S/m);
    assert.deepEqual(await lastAsked(scene), { text: `said by ${user}`, by: author });
  }
  const lines = await scene.run(["fleetctl", "turn", "ada", "-", "--json"], { input: "a\nb\n" });
  assert.equal(JSON.parse(lines.out).outcome, "completed", lines.err);
  for (const user of ["bob", "fleetctl-gateway", "www-data"]) {
    const ended = await scene.run(["fleetctl", "turn", "ada", "x"], { user });
    assert.deepEqual([ended.code, ended.out], [4, ""], `${user}: ${ended.err}`);
  }
  await files(scene);
  // The agent's own programs cannot forge the caller, and other users cannot reach the socket.
  const forged = await scene.run(["/usr/bin/python3", "-c", FORGE], { user: "ada" });
  assert.match(forged.out, /"code":"turn-not-yours"/, forged.err);
  const foreign = await scene.run(["/usr/bin/python3", "-c", FORGE], { user: "bob" });
  assert.match(foreign.err, /PermissionError/);
  const rows = await scene.audit("--verb", "turn");
  assert.ok(rows.length > 0 && !JSON.stringify(rows).includes("said by"), "no text is audited");
}

/** A caller that disconnects cancels its turn, through the daemon or directly. */
export async function cancelledTurns(scene: DaemonScene): Promise<void> {
  const sleep = `call bash ${JSON.stringify({ command: "sleep 600" })}`;
  for (const user of ["root", "zoe"]) {
    const words = ["timeout", "-s", "INT", "5", "fleetctl", "turn", "ada", sleep];
    const ended = await scene.run(words, { user });
    assert.equal(ended.code, 124, ended.out + ended.err);
    // This turn waits for the one before it, which must not take its full ten minutes.
    const next = await scene.run(["fleetctl", "turn", "ada", "what can you do"]);
    assert.match(next.out, /^ada: .*demo/m, next.err);
  }
}

/** An agent on a channel that no gateway serves. */
export async function withoutPage(scene: DaemonScene): Promise<void> {
  await scene.must("fleetctl", "agents", "add", "mel", "--channel", "messenger");
  await scene.must("fleetctl", "mcp", "add", "git", "mel");
  await scene.must("fleetctl", "agents", "restart", "mel");
  const ended = await scene.run(["fleetctl", "turn", "mel", "what can you do"]);
  assert.match(ended.out, /^mel: .*demo/m, ended.err);
  await makeRepository(scene, repositoryOf("mel"), "asked");
  await scene.must("chown", "-R", "mel:mel", repositoryOf("mel"));
  const call = scene.run(callOf("mel"), { user: "mel" });
  const { id, agent } = await untilAsked(scene);
  assert.equal(agent, "mel");
  await scene.must("fleetctl", "approvals", "approve", id);
  const done = await call;
  assert.equal(done.code, 0, done.out + done.err);
  await scene.must("fleetctl", "agents", "remove", "mel", "--yes");
}
