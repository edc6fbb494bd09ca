/**
 * MCP servers on a host: each runs as its agent, a shared one as its own user, Chromium in a
 * sandbox.
 *
 * @module
 */

import assert from "node:assert/strict";
import { SHIPPED_ENTRIES } from "core/catalog/shipped.ts";
import { copyInto, makeRepository, PackagedHost } from "tests/support/packaged_host.ts";
import { VENDOR_CACHE } from "tests/support/prepare_vendor.ts";

/** Where the tests create their repository. */
export const REPOSITORY = "/home/ada/workspace/repository";
/** A repository that a user who is not an agent can read. */
const SHARED_REPOSITORY = "/srv/repository";
const LOG_ARGS = JSON.stringify({ path: SHARED_REPOSITORY, maxCount: 1 });

/** The server runs as the agent, but cannot write the agent's home. */
export async function checkServer(scene: PackagedHost): Promise<void> {
  const unit = await scene.serverUnit("mcp-git-ada@*.service");
  const pid = await scene.property(unit, "MainPID");
  assert.equal(await scene.ownerOfProcess(pid), "ada", unit);
  // The home is read-only for the server, so it cannot change what the agent starts next.
  const inside = ["nsenter", "-t", pid, "-m", "--", "setpriv", "--reuid=ada", "--regid=ada"]
    .concat(["--clear-groups", "--", "touch"]);
  const outside = await scene.run([...inside, "/home/ada/.profile"]);
  assert.match(outside.err, /Read-only file system/);
  // The folders of the runtimes are closed to it entirely.
  const closed = await scene.run([...inside, "/home/ada/.runtime-b/agent/mcp.json"]);
  assert.match(closed.err, /Permission denied/);
  const journal = await scene.must("journalctl", "--no-pager", "-o", "cat", "-u", unit);
  assert.ok(!journal.includes(REPOSITORY), "arguments of tools stay private");
  const cache = await scene.run([...inside, "/home/ada/.cache/fleetctl/mcp-git/x"]);
  assert.equal(cache.code, 0, cache.err);
}

/** The git server can write only the workspace, and can do its work there. */
export async function checkWorkspace(scene: PackagedHost): Promise<void> {
  const { answer: cwd } = await scene.turn('call bash {"command":"pwd; stat -c %a%U ."}');
  assert.match(cwd, /\/home\/ada\/workspace\n700ada/);
  const call = (tool: string, args: object) =>
    scene.turn(`call ${tool} ${JSON.stringify(args)}`, { approves: true });
  const path = "/home/ada/workspace/new";
  await call("git_init", { path });
  await scene.turn(`call bash ${JSON.stringify({ command: "echo hello > new/hello.txt" })}`);
  await call("git_add", { path, paths: ["hello.txt"] });
  await call("git_commit", { path, message: "written after approval" });
  const log = ["git", "-C", path, "log", "--format=%s|%an|%ae"];
  const { out } = await scene.run(log, { user: "ada" });
  const name = await scene.must("hostname");
  assert.equal(out, `written after approval|ada|ada@${name.trim()}\n`);
  // The owner may approve the call, but the server still cannot write this location.
  for (const other of ["/srv/other", "/home/ada/elsewhere"]) {
    const hash = await makeRepository(scene, other, "not to be changed");
    const { answer } = await call("git_tag", { path: other, mode: "create", tagName: "x" });
    assert.match(answer, /Read-only file system|NotCapable|Requires read access/, answer);
    assert.equal(await scene.must("git", "-C", other, "-c", "safe.directory=*", "tag"), "");
    assert.match(hash, /^[0-9a-f]{40}$/);
  }
  await scene.must("rm", "-r", "/home/ada/elsewhere", "/srv/other");
  await checkOtherWorkspaces(scene);
}

/** Where a workspace may be, and what a host does when the workspace is missing. */
async function checkOtherWorkspaces(scene: PackagedHost): Promise<void> {
  const set = (dir: string) => scene.run(["fleetctl", "agents", "set", "bob", "--workspace", dir]);
  for (const dir of ["/etc/fleetctl", "/home/ada/workspace", "~/.ssh", "/srv"]) {
    const refused = await set(dir);
    assert.equal(refused.code, 1, dir);
    assert.match(refused.err, /as the workspace of agent "bob": it must /);
  }
  // If bob cannot create the folder, the operator must: root never creates it on bob's behalf.
  const missing = await set("/srv/bob/work");
  const hint = /hint: (install .*)/.exec(missing.err)?.[1] ?? "";
  assert.match(hint, /^install -d -o bob -g bob -m 0700 \/srv\/bob\/work$/, missing.err);
  await scene.must("sh", "-c", hint);
  await scene.must("fleetctl", "apply");
  assert.equal(await scene.modeOf("/srv/bob/work"), "700 bob:bob");
  // A link that an agent leaves in its place is followed only with the agent's rights.
  await scene.must("fleetctl", "agents", "set", "bob", "--workspace", "~/linked");
  await scene.must("sh", "-c", "rmdir /home/bob/linked; ln -s /root/taken /home/bob/linked");
  const through = await scene.run(["fleetctl", "apply"]);
  assert.equal((await scene.run(["test", "-e", "/root/taken"])).code, 1);
  assert.match(through.err, /Cannot write "\/home\/bob\/linked"/);
  await scene.must("rm", "/home/bob/linked");
  await scene.must("fleetctl", "agents", "set", "bob", "--workspace", "");
  await scene.must("fleetctl", "agents", "restart", "bob");
  assert.match(await scene.must("fleetctl", "status"), /nothing is wrong/);
}

/** The agent and its servers share a private /tmp. */
export async function checkScratch(scene: PackagedHost): Promise<void> {
  await scene.turn(`call bash ${JSON.stringify({ command: "echo in scratch > /tmp/scratch" })}`);
  await scene.turn(`last commit of ${REPOSITORY}`);
  const unit = await scene.serverUnit("mcp-git-ada@*.service");
  const pid = await scene.property(unit, "MainPID");
  const seen = await scene.must("nsenter", "-t", pid, "-m", "--", "cat", "/tmp/scratch");
  assert.equal(seen, "in scratch\n");
  assert.equal((await scene.run(["test", "-e", "/tmp/scratch"])).code, 1, "others have their own");
}

/** Chromium builds its own sandbox from namespaces, inside that of the unit. */
export async function checkBrowser(scene: PackagedHost): Promise<void> {
  const page = { url: "data:text/html,<title>seen by Chromium</title>" };
  const { answer } = await scene.turn(`call browser_navigate ${JSON.stringify(page)}`);
  assert.match(answer, /Page Title: seen by Chromium/);
  const { out } = await scene.run(["pgrep", "-u", "ada", "-a", "chrom"]);
  assert.match(out, /--type=renderer/);
  assert.doesNotMatch(out, /--no-sandbox/);
}

/** No shipped server is shared, so the overlay adds one: the git server under another name. */
export async function checkSharedServer(scene: PackagedHost): Promise<void> {
  const hash = await makeRepository(scene, SHARED_REPOSITORY, "shared by all");
  const shipped = SHIPPED_ENTRIES.find(({ name }) => name === "git");
  const entry = `${scene.host.root}/var/lib/fleetctl/repo/catalog/notes`;
  await Deno.mkdir(entry);
  await Deno.writeTextFile(`${entry}/deno.lock`, shipped?.lock ?? "");
  const manifest = (shipped?.manifest ?? "").replace(/^name: git$/m, "name: notes")
    .replace(/^scope: per_user$/m, "scope: shared")
    .replace(/^ {2}read: .*$/m, `  read: ["${SHARED_REPOSITORY}"]`)
    .replace(/^ {2}write: .*\n/m, "");
  await Deno.writeTextFile(`${entry}/mcp.yaml`, manifest);
  await copyInto(scene.host, `${VENDOR_CACHE}/git/.`, "/var/lib/fleetctl/vendor-cache/notes");
  await scene.must("git", "config", "--system", "--add", "safe.directory", "*");
  await scene.must("fleetctl", "mcp", "add", "notes", "ada");
  assert.equal(await scene.modeOf("/run/mcp/notes.sock"), "660 root:agents");
  const words = ["fleetctl", "mcp", "read", "notes", "git_log", "--args", LOG_ARGS];
  const read = await scene.run(words, { user: "ada" });
  assert.equal(read.code, 0, read.out + read.err);
  assert.ok(read.out.includes(hash), read.out);
  await scene.must("fleetctl", "apply");
  await scene.turn("what can you do");
  const pid = await scene.property(await scene.serverUnit("mcp-notes@*.service"), "MainPID");
  const uid = Number(await scene.must("stat", "-c", "%u", `/proc/${pid}`));
  // The uid range of systemd's dynamic users.
  assert.ok(uid >= 61_184 && uid <= 65_519, `uid ${uid}`);
  // Both servers have a git_log, and a turn uses the one that starts first.
  await scene.must("fleetctl", "mcp", "remove", "notes", "ada");
  await scene.must("fleetctl", "agents", "restart", "ada");
}
