/**
 * MCP servers on a host: each runs as its agent, a shared one as a user of its own, Chromium in a sandbox.
 *
 * @module
 */

import assert from "node:assert/strict";
import { SHIPPED_ENTRIES } from "core/catalog/shipped.ts";
import { copyInto, PackagedHost } from "tests/support/packaged_host.ts";
import { VENDOR_CACHE } from "tests/support/prepare_vendor.ts";

/** Where the tests make their repository. */
export const REPOSITORY = "/srv/repository";
const LOG_ARGS = JSON.stringify({ path: REPOSITORY, maxCount: 1 });

/** The server runs as the agent, whose home it cannot write. */
export async function checkServer(scene: PackagedHost): Promise<void> {
  const unit = await scene.serverUnit("mcp-git-ada@*.service");
  const pid = await scene.property(unit, "MainPID");
  assert.equal(await scene.ownerOfProcess(pid), "ada", unit);
  // Its own home is read-only to it, so it cannot change what the agent starts next.
  const inside = ["nsenter", "-t", pid, "-m", "--", "setpriv", "--reuid=ada", "--regid=ada"]
    .concat(["--clear-groups", "--", "touch"]);
  const outside = await scene.run([...inside, "/home/ada/.runtime-b/agent/mcp.json"]);
  assert.match(outside.err, /Read-only file system/);
  const journal = await scene.must("journalctl", "--no-pager", "-o", "cat", "-u", unit);
  assert.ok(!journal.includes(REPOSITORY), "arguments of tools are nobody else's");
  const cache = await scene.run([...inside, "/home/ada/.cache/fleetctl/mcp-git/x"]);
  assert.equal(cache.code, 0, cache.err);
}

/** The agent and its servers share a /tmp of their own. */
export async function checkScratch(scene: PackagedHost): Promise<void> {
  const command = "git init -q /tmp/scratch && cd /tmp/scratch && git -c user.name=A " +
    "-c user.email=a@example.org commit -q --allow-empty -m 'in scratch'";
  await scene.turn(`call bash ${JSON.stringify({ command })}`);
  const { answer } = await scene.turn("last commit of /tmp/scratch");
  assert.match(answer, /in scratch/);
  assert.equal((await scene.run(["test", "-e", "/tmp/scratch"])).code, 1, "others have their own");
}

/** Chromium builds its own sandbox out of namespaces, inside that of the unit. */
export async function checkBrowser(scene: PackagedHost): Promise<void> {
  const page = { url: "data:text/html,<title>seen by Chromium</title>" };
  const { answer } = await scene.turn(`call browser_navigate ${JSON.stringify(page)}`);
  assert.match(answer, /Page Title: seen by Chromium/);
  const { out } = await scene.run(["pgrep", "-u", "ada", "-a", "chrom"]);
  assert.match(out, /--type=renderer/);
  assert.doesNotMatch(out, /--no-sandbox/);
}

/** No shipped server is shared, so this one is the overlay's: the git server under another name. */
export async function checkSharedServer(scene: PackagedHost, hash: string): Promise<void> {
  const shipped = SHIPPED_ENTRIES.find(({ name }) => name === "git");
  const entry = `${scene.host.root}/var/lib/fleetctl/repo/catalog/notes`;
  await Deno.mkdir(entry);
  await Deno.writeTextFile(`${entry}/deno.lock`, shipped?.lock ?? "");
  const manifest = (shipped?.manifest ?? "").replace(/^name: git$/m, "name: notes")
    .replace(/^scope: per_user$/m, "scope: shared");
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
  // The range of users that exist while their service runs.
  assert.ok(uid >= 61_184 && uid <= 65_519, `uid ${uid}`);
}
