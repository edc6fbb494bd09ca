/**
 * A full disk under a root, on a separate small tmpfs. There is one clear error, nothing
 * acknowledged is lost, and everything works again once there is room. Needs the right to mount.
 *
 * @module
 */

import assert from "node:assert/strict";
import { processesOf } from "tests/support/processes_of.ts";
import { runDev, seedVendorCache, startUp } from "tests/support/up_process.ts";

const isRoot = Deno.uid() === 0;

async function mount(size: string): Promise<string> {
  const root = await Deno.makeTempDir({ prefix: "fd-" });
  const mounted = await new Deno.Command("mount", {
    args: ["-t", "tmpfs", "-o", `size=${size},mode=755`, "tmpfs", root],
  }).output();
  assert.ok(mounted.success, new TextDecoder().decode(mounted.stderr));
  return root;
}

async function unmount(root: string): Promise<void> {
  await new Deno.Command("umount", { args: ["-l", root] }).output();
  await Deno.remove(root);
}

/** Writes until the disk is full; returns the file. */
async function fill(root: string): Promise<string> {
  const path = `${root}/filler`;
  const file = await Deno.open(path, { write: true, create: true });
  try {
    for (const size of [1 << 20, 1 << 12, 1]) {
      const block = new Uint8Array(size);
      while (true) {
        try {
          await file.write(block);
        } catch {
          break;
        }
      }
    }
  } finally {
    file.close();
  }
  return path;
}

Deno.test({
  name: "up refuses a root whose disk is full, in one clear error",
  ignore: !isRoot,
  async fn() {
    const root = await mount("256k");
    try {
      await fill(root);
      const result = await runDev(["up", "--root", root, "--port-base", "0"]);
      assert.equal(result.code, 1, result.stdout + result.stderr);
      assert.match(result.stderr, /^fleetctl: Cannot .*no space is left/m);
      assert.match(result.stderr, /^hint: df -h /m);
      assert.deepEqual(await processesOf(root), []);
    } finally {
      await unmount(root);
    }
  },
});

Deno.test({
  name: "a disk that fills up while up runs refuses the turn, loses nothing, and works again",
  ignore: !isRoot,
  async fn() {
    const root = await mount("200m");
    try {
      await seedVendorCache(root);
      await using up = startUp(root);
      await up.line(/^ready /);
      const before = await runDev([
        "up",
        "--root",
        root,
        "--turn",
        'call bash {"command":"echo one"}',
      ]);
      assert.equal(before.code, 0, before.stdout + before.stderr);

      const filler = await fill(root);
      const refused = await runDev(["up", "--root", root, "--turn", "what can you do"]);
      assert.notEqual(refused.code, 0, refused.stdout);
      assert.match(refused.stderr, /no space|disk/i, refused.stderr);
      assert.match(refused.stderr, /^hint: /m);

      await Deno.remove(filler);
      const after = await runDev([
        "up",
        "--root",
        root,
        "--turn",
        'call bash {"command":"echo two"}',
      ]);
      assert.equal(after.code, 0, after.stdout + after.stderr + up.text());
      assert.match(after.stdout, /two/);
      assert.equal(await up.stop(), 0, up.text());
    } finally {
      await unmount(root);
    }
  },
});
