/**
 * @module
 */

import assert from "node:assert/strict";
import { syncFolder } from "core/os/folder_sync.ts";

/** Replaces `Deno.open` during `run`: it counts the calls and blocks them until `release`. */
async function withOpen(
  run: (scene: { opened: () => number; release: () => void }) => Promise<void>,
): Promise<void> {
  const { open } = Deno;
  let count = 0;
  let gates: (() => void)[] = [];
  Deno.open = async (path, options) => {
    count++;
    await new Promise<void>((resolve) => gates.push(resolve));
    return await open(path, options);
  };
  try {
    await run({
      opened: () => count,
      release: () => {
        for (const gate of gates) gate();
        gates = [];
      },
    });
  } finally {
    Deno.open = open;
  }
}

Deno.test("syncFolder() shares only a call that begins after the request", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await withOpen(async ({ opened, release }) => {
      const first = syncFolder(folder);
      assert.equal(opened(), 1);
      let isDone = false;
      const later = Promise.all([syncFolder(folder), syncFolder(folder), syncFolder(folder)])
        .then(() => isDone = true);
      release();
      await first;
      assert.equal(isDone, false, "the running one may have begun before their renames");
      while (opened() < 2) await new Promise((resolve) => setTimeout(resolve));
      const last = syncFolder(folder);
      release();
      await later;
      assert.equal(opened(), 3);
      release();
      await last;
      const alone = syncFolder(folder);
      assert.equal(opened(), 4);
      release();
      await alone;
    });
  } finally {
    await Deno.remove(folder);
  }
});

Deno.test("syncFolder() rejects for every caller that waits for the same failed call", async () => {
  const path = `${await Deno.makeTempDir()}/none`;
  const ended = await Promise.allSettled([syncFolder(path), syncFolder(path), syncFolder(path)]);
  assert.deepEqual(ended.map(({ status }) => status), ["rejected", "rejected", "rejected"]);
});
