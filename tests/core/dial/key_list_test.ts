/**
 * The list of dial keys: it reads each version of its file once, and never returns a removed key.
 *
 * @module
 */

import assert from "node:assert/strict";
import { openKeyList } from "core/dial/key_list.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import { denoFiles } from "core/os/files.ts";
import type { Files } from "core/ports/files.ts";
import { memoryHost } from "tests/fakes/host.ts";

const OLD = "A".repeat(43);
const NEW = `${"A".repeat(42)}E`;
const SETTLED = DIAL_LIMITS.keyFileSettledMs;

/** Counts the reads and stats of files. */
function counted(files: Pick<Files, "readText" | "stat">) {
  const seen = { reads: 0, looks: 0 };
  return {
    seen,
    readText: (path: string) => {
      seen.reads++;
      return files.readText(path);
    },
    stat: (path: string) => {
      seen.looks++;
      return files.stat(path);
    },
  };
}

Deno.test("many registrations read an unchanged file once, and share each check", async () => {
  const { files, clock } = memoryHost();
  await files.write("/keys", JSON.stringify({ mia: [OLD] }));
  await clock.advance(SETTLED);
  const spied = counted(files);
  const list = openKeyList(spied, "/keys", clock);
  const wave = () => Promise.all(Array.from({ length: 500 }, () => list.listed("mia")));
  for (const keys of await wave()) assert.deepEqual(keys, [OLD]);
  for (let again = 0; again < 5; again++) await wave();
  assert.equal(spied.seen.reads, 1);
  assert.ok(spied.seen.looks < 20, `${spied.seen.looks} looks`);
  assert.equal(await list.generation(), 1);
});

Deno.test("a removed key is not found again, however soon it is looked up", async () => {
  const { files, clock } = memoryHost();
  const list = openKeyList(files, "/keys", clock);
  assert.equal(await list.listed("mia"), undefined);
  for (let turn = 0; turn < 50; turn++) {
    // The clock does not advance: neither time nor size distinguishes one content from the next.
    const key = turn % 2 === 0 ? OLD : NEW;
    await files.write("/keys", JSON.stringify({ mia: [key] }));
    assert.deepEqual(await list.listed("mia"), [key]);
  }
  assert.equal(await list.generation(), 51);
  await clock.advance(SETTLED);
  assert.deepEqual(await list.listed("mia"), [NEW]);
  await files.write("/keys", JSON.stringify({ mia: [] }));
  assert.deepEqual(await list.listed("mia"), []);
  assert.equal(await list.generation(), 52);
});

Deno.test("a caller that arrives during a check waits for the next one", async () => {
  const { files, clock } = memoryHost();
  await files.write("/keys", JSON.stringify({ mia: [OLD] }));
  await clock.advance(SETTLED);
  const begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  let isHeld = true;
  const list = openKeyList(
    {
      stat: (path) => files.stat(path),
      readText: async (path) => {
        const text = await files.readText(path);
        begun.resolve();
        if (isHeld) await held.promise;
        return text;
      },
    },
    "/keys",
    clock,
  );
  const early = list.listed("mia");
  await begun.promise;
  isHeld = false;
  await files.write("/keys", JSON.stringify({ mia: [] }));
  const late = list.listed("mia");
  held.resolve();
  assert.deepEqual([await early, await late], [[OLD], []]);
});

Deno.test("a damaged list admits no caller until it is repaired", async () => {
  const { files, clock } = memoryHost();
  const text = JSON.stringify({ mia: [OLD] });
  await files.write("/keys", text);
  await clock.advance(SETTLED);
  const list = openKeyList(files, "/keys", clock);
  assert.deepEqual(await list.listed("mia"), [OLD]);
  await files.write("/keys", text.slice(0, -1));
  await clock.advance(SETTLED);
  for (let again = 0; again < 2; again++) {
    const asked = await Promise.allSettled([list.listed("mia"), list.agents(), list.generation()]);
    for (const { status } of asked) assert.equal(status, "rejected");
  }
  await files.write("/keys", text);
  assert.deepEqual(await list.listed("mia"), [OLD]);
});

Deno.test("a list that is replaced or overwritten on a disk is read again at once", async () => {
  const files = denoFiles();
  const folder = await Deno.makeTempDir({ prefix: "ft-" });
  try {
    const path = `${folder}/keys`;
    const list = openKeyList(files, path, { now: () => Date.now() });
    for (let turn = 0; turn < 100; turn++) {
      const key = turn % 2 === 0 ? OLD : NEW;
      const text = JSON.stringify({ mia: [key] });
      if (turn % 3 === 0) await Deno.writeTextFile(path, text);
      else await files.write(path, text);
      // Sets an old modification time; the change time, which counts, cannot be set.
      await Deno.utime(path, 1, 1);
      assert.deepEqual(await list.listed("mia"), [key], `turn ${turn}`);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
