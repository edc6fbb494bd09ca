/**
 * One suite for `Files`, run against the disk and against the fake.
 *
 * @module
 */

import assert from "node:assert/strict";
import { FileFault, type Files } from "core/ports/files.ts";
import { denoFiles } from "core/os/files.ts";
import { memoryFiles } from "tests/fakes/files.ts";
import { contractOf } from "tests/contract/subjects.ts";

const contract = contractOf<Files>([
  {
    name: "denoFiles",
    open: async () => {
      const root = await Deno.makeTempDir();
      return [denoFiles(), root, () => Deno.remove(root, { recursive: true })];
    },
  },
  {
    name: "memoryFiles",
    open: async () => {
      const files = memoryFiles();
      await files.ensureDir("/folder");
      return [files, "/folder", () => Promise.resolve()];
    },
  },
]);

async function faultOf(work: Promise<unknown>): Promise<FileFault> {
  try {
    await work;
  } catch (thrown) {
    assert.ok(thrown instanceof FileFault, `not a FileFault: ${thrown}`);
    return thrown;
  }
  assert.fail("nothing was thrown");
}

contract("gives back what was written, as text and as bytes", async (files, root) => {
  await files.write(`${root}/a`, "grüße\n");
  assert.equal(await files.readText(`${root}/a`), "grüße\n");
  await files.write(`${root}/a`, Uint8Array.of(0, 255, 10));
  assert.deepEqual(await files.readBytes(`${root}/a`), Uint8Array.of(0, 255, 10));
});

contract("answers undefined for what is not there", async (files, root) => {
  assert.equal(await files.readText(`${root}/none`), undefined);
  assert.equal(await files.readBytes(`${root}/none`), undefined);
  assert.equal(await files.stat(`${root}/none`), undefined);
  assert.equal(await files.readLink(`${root}/none`), undefined);
  assert.deepEqual(await files.list(`${root}/none`), []);
  await files.remove(`${root}/none`);
});

contract(
  "readPlain() reads a plain file within its bound and nothing else",
  async (files, root) => {
    await files.write(`${root}/a`, "grüße");
    await files.write(`${root}/empty`, "");
    await files.ensureDir(`${root}/dir`);
    await files.symlink(`${root}/a`, `${root}/link`);
    const cases: readonly (readonly [string, number, string | undefined])[] = [
      ["a", 7, "grüße"],
      ["a", 6, undefined],
      ["empty", 0, ""],
      ["dir", 1_000_000, undefined],
      ["link", 7, undefined],
      ["none", 7, undefined],
    ];
    for (const [name, bytesMax, text] of cases) {
      const uid = (await files.stat(root))?.uid ?? 0;
      const path = `${root}/${name}`;
      assert.equal(await files.readPlain(path, { bytesMax, uid }), text, name);
      assert.equal(await files.readPlain(path, { bytesMax, uid: uid + 1 }), undefined, name);
    }
  },
);

contract("readHead() reads the beginning of a plain file and nothing else", async (files, root) => {
  await files.write(`${root}/a`, "grüße");
  await files.write(`${root}/empty`, "");
  await files.ensureDir(`${root}/dir`);
  await files.symlink(`${root}/a`, `${root}/link`);
  const cases: readonly (readonly [string, number, string | undefined])[] = [
    ["a", 100, "grüße"],
    ["a", 2, "gr"],
    ["a", 0, ""],
    ["empty", 10, ""],
    ["dir", 10, undefined],
    ["link", 10, undefined],
    ["none", 10, undefined],
  ];
  for (const [name, bytesMax, text] of cases) {
    const head = await files.readHead(`${root}/${name}`, bytesMax);
    assert.equal(head && new TextDecoder().decode(head.bytes), text, name);
    if (name === "a") assert.equal(head?.size, 7);
  }
});

contract("sets the mode asked for and 0644 otherwise", async (files, root) => {
  await files.write(`${root}/default`, "");
  await files.write(`${root}/open`, "", { mode: 0o666 });
  await files.write(`${root}/secret`, "", { mode: 0o600 });
  assert.equal((await files.stat(`${root}/default`))?.mode, 0o644);
  assert.equal((await files.stat(`${root}/open`))?.mode, 0o666);
  assert.equal((await files.stat(`${root}/secret`))?.mode, 0o600);
  await files.write(`${root}/open`, "", { mode: 0o640 });
  assert.equal((await files.stat(`${root}/open`))?.mode, 0o640);
});

contract("tells kind and size", async (files, root) => {
  await files.write(`${root}/a`, "four");
  await files.symlink("a", `${root}/link`);
  await files.ensureDir(`${root}/dir`);
  const stat = await files.stat(`${root}/a`);
  assert.equal(stat?.kind, "file");
  assert.equal(stat?.size, 4);
  assert.equal((await files.stat(`${root}/link`))?.kind, "symlink");
  assert.equal((await files.stat(`${root}/dir`))?.kind, "directory");
});

contract("replaces a link instead of following it", async (files, root) => {
  await files.write(`${root}/victim`, "keep");
  await files.symlink(`${root}/victim`, `${root}/link`);
  await files.write(`${root}/link`, "new");
  assert.equal(await files.readText(`${root}/victim`), "keep");
  assert.equal((await files.stat(`${root}/link`))?.kind, "file");
});

contract("refuses to append through a link or to change its mode", async (files, root) => {
  await files.write(`${root}/victim`, "keep");
  await files.symlink(`${root}/victim`, `${root}/link`);
  assert.equal((await faultOf(files.append(`${root}/link`, "x"))).code, "ELOOP");
  assert.equal((await faultOf(files.setMeta(`${root}/link`, { mode: 0o777 }))).code, "ELOOP");
  await files.setMeta(`${root}/victim`, { mode: 0o640 });
  assert.equal((await files.stat(`${root}/victim`))?.mode, 0o640);
  assert.equal(await files.readText(`${root}/victim`), "keep");
});

contract("refuses to lock a link and leaves its target alone", async (files, root) => {
  await files.symlink(`${root}/target`, `${root}/link`);
  assert.equal((await faultOf(files.tryLock(`${root}/link`))).code, "ELOOP");
  assert.equal(await files.stat(`${root}/target`), undefined);
});

contract("names code and path when a write cannot be done", async (files, root) => {
  const absent = await faultOf(files.write(`${root}/none/a`, "x"));
  assert.equal(absent.code, "ENOENT");
  assert.equal(absent.path, `${root}/none/a`);
  await files.write(`${root}/file`, "x");
  assert.equal((await faultOf(files.write(`${root}/file/a`, "x"))).code, "ENOTDIR");
  await files.ensureDir(`${root}/dir`);
  await files.write(`${root}/dir/inside`, "x");
  assert.equal((await faultOf(files.write(`${root}/dir`, "x"))).code, "EISDIR");
  assert.equal((await faultOf(files.readText(`${root}/dir`))).code, "EISDIR");
  assert.equal((await faultOf(files.list(`${root}/file`))).code, "ENOTDIR");
  assert.equal((await faultOf(files.setMeta(`${root}/none`, { mode: 0o600 }))).code, "ENOENT");
  assert.equal((await faultOf(files.rename(`${root}/none`, `${root}/b`))).code, "ENOENT");
});

contract("leaves nothing behind when a write fails", async (files, root) => {
  await files.ensureDir(`${root}/dir`);
  await faultOf(files.write(`${root}/dir`, "x"));
  assert.deepEqual(await files.list(root), ["dir"]);
});

contract("appends, creating the file with its mode", async (files, root) => {
  await files.append(`${root}/log`, "one\n", 0o600);
  await files.appendDurably(`${root}/log`, "two\n", 0o644);
  assert.equal(await files.readText(`${root}/log`), "one\ntwo\n");
  assert.equal((await files.stat(`${root}/log`))?.mode, 0o600);
});

contract("creates folders with parents, and touches only what differs", async (files, root) => {
  await files.ensureDir(`${root}/a/b/c`, { mode: 0o700 });
  assert.equal((await files.stat(`${root}/a/b`))?.mode, 0o755);
  assert.equal((await files.stat(`${root}/a/b/c`))?.mode, 0o700);
  await files.ensureDir(`${root}/a/b/c`);
  assert.equal((await files.stat(`${root}/a/b/c`))?.mode, 0o700);
  await files.ensureDir(`${root}/a/b/c`, { mode: 0o750 });
  assert.equal((await files.stat(`${root}/a/b/c`))?.mode, 0o750);
});

contract("refuses a folder where a file is", async (files, root) => {
  await files.write(`${root}/file`, "x");
  assert.equal((await faultOf(files.ensureDir(`${root}/file`))).code, "ENOTDIR");
  assert.equal((await faultOf(files.ensureDir(`${root}/file/below`))).code, "ENOTDIR");
});

contract("refuses to change a folder behind a link", async (files, root) => {
  await files.ensureDir(`${root}/dir`, { mode: 0o755 });
  await files.symlink(`${root}/dir`, `${root}/link`);
  await files.ensureDir(`${root}/link`);
  const fault = await faultOf(files.ensureDir(`${root}/link`, { mode: 0o700 }));
  assert.ok(["ELOOP", "ENOTDIR"].includes(fault.code), fault.code);
  assert.equal((await files.stat(`${root}/dir`))?.mode, 0o755);
});

contract("lists names in order", async (files, root) => {
  for (const name of ["b", "a", "B", "a.1"]) await files.write(`${root}/${name}`, "");
  assert.deepEqual(await files.list(root), ["B", "a", "a.1", "b"]);
});

contract("links, reads links and replaces them", async (files, root) => {
  await files.symlink("one", `${root}/link`);
  await files.symlink("two", `${root}/link`);
  assert.equal(await files.readLink(`${root}/link`), "two");
  await files.write(`${root}/file`, "x");
  assert.equal(await files.readLink(`${root}/file`), undefined);
  assert.deepEqual(await files.list(root), ["file", "link"]);
});

contract("resolves links, also those above the path", async (files, root) => {
  await files.ensureDir(`${root}/real/sub`);
  await files.write(`${root}/real/sub/file`, "x");
  await files.symlink("real", `${root}/link`);
  await files.symlink(`${root}/none`, `${root}/dangling`);
  const real = await files.realPath(root);
  for (
    const [path, want] of [
      ["real/sub/file", "real/sub/file"],
      ["link/sub", "real/sub"],
      ["link/sub/file", "real/sub/file"],
      ["link", "real"],
      ["none", undefined],
      ["link/none", undefined],
      ["dangling", undefined],
    ] as const
  ) {
    const found = await files.realPath(`${root}/${path}`);
    assert.equal(found, want === undefined ? undefined : `${real}/${want}`, path);
  }
  assert.equal((await faultOf(files.realPath(`${root}/real/sub/file/x`))).code, "ENOTDIR");
});

contract("renames over what is there", async (files, root) => {
  await files.write(`${root}/from`, "new");
  await files.write(`${root}/to`, "old");
  await files.rename(`${root}/from`, `${root}/to`);
  assert.equal(await files.readText(`${root}/to`), "new");
  assert.equal(await files.stat(`${root}/from`), undefined);
});

contract("removes files, and trees only when asked", async (files, root) => {
  await files.ensureDir(`${root}/dir`);
  await files.write(`${root}/dir/a`, "x");
  assert.equal((await faultOf(files.remove(`${root}/dir`))).code, "EEXIST");
  await files.remove(`${root}/dir`, { recursive: true });
  assert.equal(await files.stat(`${root}/dir`), undefined);
});

contract("removes a link, not its target", async (files, root) => {
  await files.ensureDir(`${root}/dir`);
  await files.write(`${root}/dir/a`, "x");
  await files.symlink(`${root}/dir`, `${root}/link`);
  await files.remove(`${root}/link`, { recursive: true });
  assert.equal(await files.readText(`${root}/dir/a`), "x");
});

contract("holds a lock until it is released", async (files, root) => {
  const first = await files.tryLock(`${root}/lock`);
  assert.ok(first !== undefined);
  assert.equal(await files.tryLock(`${root}/lock`), undefined);
  assert.equal((await files.stat(`${root}/lock`))?.mode, 0o600);
  await first.release();
  await first.release();
  const second = await files.tryLock(`${root}/lock`);
  assert.ok(second !== undefined);
  await second.release();
});

contract("gives a lock to one waiter after the other", async (files, root) => {
  const order: number[] = [];
  let inside = 0;
  await Promise.all([1, 2, 3, 4].map(async (waiter) => {
    const lock = await files.lock(`${root}/lock`);
    assert.equal(++inside, 1);
    await files.write(`${root}/holder`, String(waiter));
    order.push(waiter);
    inside--;
    await lock.release();
  }));
  assert.deepEqual(order, [1, 2, 3, 4]);
});

contract(
  "gives up waiting when the signal fires, and others still get the lock",
  async (files, root) => {
    const held = await files.lock(`${root}/lock`);
    const abort = new AbortController();
    const impatient = files.lock(`${root}/lock`, abort.signal);
    const patient = files.lock(`${root}/lock`);
    abort.abort(new Error("enough"));
    await assert.rejects(impatient, /enough/);
    await held.release();
    await (await patient).release();
    await assert.rejects(files.lock(`${root}/lock`, AbortSignal.abort(new Error("late"))), /late/);
  },
);
