/**
 * What the in-memory file system adds to the contract: failures on demand and inspection.
 *
 * @module
 */

import assert from "node:assert/strict";
import { memoryFiles } from "tests/fakes/files.ts";

Deno.test("memoryFiles() starts with the files given", async () => {
  const files = memoryFiles({ "/etc/fleetctl/host.yaml": "a: 1\n", "/home/ada/x": "" });
  assert.equal(await files.readText("/etc/fleetctl/host.yaml"), "a: 1\n");
  assert.equal(files.text("/etc/fleetctl/host.yaml"), "a: 1\n");
  assert.equal(files.text("/none"), undefined);
  assert.deepEqual(files.paths(), ["/etc/fleetctl/host.yaml", "/home/ada/x"]);
  assert.deepEqual(await files.list("/"), ["etc", "home"]);
  assert.deepEqual(files.changes, []);
});

Deno.test("failAt() lets the n-th change fail once, without any effect", async () => {
  const files = memoryFiles({ "/d/a": "old" });
  files.failAt(2, "ENOSPC");
  await files.write("/d/a", "new");
  await assert.rejects(files.write("/d/a", "newer"), { code: "ENOSPC", path: "/d/a" });
  assert.equal(files.text("/d/a"), "new");
  await files.write("/d/a", "newer");
  assert.deepEqual(files.changes, ["write /d/a", "write /d/a", "write /d/a"]);
});

Deno.test("failUnder() lets changes below a folder fail until it is repaired", async () => {
  const files = memoryFiles({ "/etc/a": "", "/etcetera/a": "" });
  files.failUnder("/etc", "EROFS");
  await assert.rejects(files.write("/etc/a", "x"), { code: "EROFS" });
  await assert.rejects(files.remove("/etc/a"), { code: "EROFS" });
  await files.write("/etcetera/a", "x");
  files.failUnder("/etc", undefined);
  await files.write("/etc/a", "x");
  assert.equal(files.text("/etc/a"), "x");
});

Deno.test("memoryFiles() follows links on the way, and notices loops", async () => {
  const files = memoryFiles({ "/real/dir/a": "here" });
  await files.symlink("/real", "/abs");
  await files.symlink("dir", "/real/rel");
  assert.equal(await files.readText("/abs/rel/a"), "here");
  await files.symlink("/loop", "/loop");
  await assert.rejects(files.readText("/loop/a"), { code: "ELOOP" });
});

Deno.test("memoryFiles() accepts absolute paths only", () => {
  assert.throws(() => memoryFiles({ "a/b": "" }), /not absolute/);
});
