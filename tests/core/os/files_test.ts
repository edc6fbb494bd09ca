/**
 * Properties that need a real disk: atomicity under load, modes against the umask, faults of a full
 * or read-only disk, and locks that outlive neither their holder nor their file.
 *
 * @module
 */

import assert from "node:assert/strict";
import { FileFault, type Files } from "core/ports/files.ts";
import { denoFiles } from "core/os/files.ts";

const isRoot = Deno.uid() === 0;

async function withFolder(run: (files: Files, root: string) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir();
  try {
    await run(denoFiles(), root);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (thrown) {
    assert.ok(thrown instanceof FileFault, String(thrown));
    return thrown.code;
  }
  return "none";
}

async function shell(script: string): Promise<number> {
  const status = await new Deno.Command("/bin/sh", { args: ["-c", script] }).output();
  return status.code;
}

Deno.test("write() sets the mode whatever the umask is", () =>
  withFolder(async (files, root) => {
    const before = Deno.umask(0o077);
    try {
      await files.write(`${root}/a`, "x", { mode: 0o666 });
      await files.ensureDir(`${root}/d`);
    } finally {
      Deno.umask(before);
    }
    assert.equal((await files.stat(`${root}/a`))?.mode, 0o666);
    assert.equal((await files.stat(`${root}/d`))?.mode, 0o755);
  }));

Deno.test("write() never shows a reader a part of a file", () =>
  withFolder(async (files, root) => {
    const path = `${root}/a`;
    const versions = ["a", "b"].map((letter) => letter.repeat(300_000));
    await files.write(path, versions[0] ?? "");
    let isWriting = true;
    const writer = (async () => {
      for (let round = 0; round < 40; round++) await files.write(path, versions[round % 2] ?? "");
      isWriting = false;
    })();
    let reads = 0;
    while (isWriting) {
      assert.ok(versions.includes(await Deno.readTextFile(path)));
      reads++;
    }
    await writer;
    assert.ok(reads > 0);
    assert.deepEqual(await files.list(root), ["a"]);
  }));

Deno.test(
  "write() sets the owner before the file appears at its path",
  { ignore: !isRoot },
  () =>
    withFolder(async (files, root) => {
      await files.write(`${root}/a`, "x", { mode: 0o640, uid: 0, gid: 65534 });
      const stat = await files.stat(`${root}/a`);
      assert.deepEqual([stat?.uid, stat?.gid, stat?.mode], [0, 65534, 0o640]);
      await files.ensureDir(`${root}/d`, { mode: 0o700, uid: 65534, gid: 65534 });
      const folder = await files.stat(`${root}/d`);
      assert.deepEqual([folder?.uid, folder?.gid, folder?.mode], [65534, 65534, 0o700]);
    }),
);

Deno.test(
  "write() keeps the old file and leaves no temporary file when the disk is full",
  { ignore: !isRoot },
  () =>
    withFolder(async (files, root) => {
      await Deno.mkdir(`${root}/small`);
      assert.equal(await shell(`mount -t tmpfs -o size=64k tmpfs '${root}/small'`), 0);
      try {
        await files.write(`${root}/small/a`, "old");
        assert.equal(await codeOf(files.write(`${root}/small/a`, "x".repeat(1_000_000))), "ENOSPC");
        assert.equal(await files.readText(`${root}/small/a`), "old");
        assert.deepEqual(await files.list(`${root}/small`), ["a"]);
        assert.equal(await shell(`mount -o remount,ro '${root}/small'`), 0);
        assert.equal(await codeOf(files.write(`${root}/small/a`, "new")), "EROFS");
      } finally {
        await shell(`umount '${root}/small'`);
      }
    }),
);

Deno.test("write() names what is not permitted", () =>
  withFolder(async (files, root) => {
    if (isRoot) {
      // Root may write everywhere except in the process table.
      assert.notEqual(await codeOf(files.write("/proc/fleetctl", "x")), "none");
      return;
    }
    await Deno.chmod(root, 0o500);
    assert.equal(await codeOf(files.write(`${root}/a`, "x")), "EACCES");
    await Deno.chmod(root, 0o700);
  }));

Deno.test("write() is EACCES outside the permission set of the program", {
  permissions: { read: true, write: false },
}, async () => {
  await assert.rejects(
    denoFiles().write("/tmp/fleetctl-never", "x"),
    (thrown: unknown) =>
      thrown instanceof FileFault && thrown.code === "EACCES" &&
      thrown.message.includes("permission set"),
  );
});

Deno.test("readText() refuses a pipe instead of waiting for its writer", () =>
  withFolder(async (files, root) => {
    assert.equal(await shell(`mkfifo '${root}/pipe'`), 0);
    assert.equal(await codeOf(files.readText(`${root}/pipe`)), "EIO");
  }));

Deno.test("readBytes() reads files larger than one piece", () =>
  withFolder(async (files, root) => {
    const bytes = new Uint8Array(3 * 1024 * 1024).fill(7);
    await files.write(`${root}/big`, bytes);
    assert.deepEqual(await files.readBytes(`${root}/big`), bytes);
  }));

Deno.test("tryLock() sees the lock of another process until that process is killed", () =>
  withFolder(async (files, root) => {
    const holder = new Deno.Command("/usr/bin/flock", {
      args: ["--no-fork", `${root}/lock`, "/bin/sh", "-c", "echo held; exec sleep 600"],
      stdout: "piped",
    }).spawn();
    const reader = holder.stdout.getReader();
    await reader.read();
    assert.equal(await files.tryLock(`${root}/lock`), undefined);
    const waiting = files.lock(`${root}/lock`);
    holder.kill("SIGKILL");
    const lock = await waiting;
    await holder.status;
    await reader.cancel();
    await lock.release();
  }));

/** Limits for a small file of this process's user. */
const ANY = { bytesMax: 1_000, uid: Deno.uid() ?? 0 };

Deno.test("readPlain() and readHead() skip pipes, sockets, and bytes beyond the size", () =>
  withFolder(async (files, root) => {
    assert.equal(await shell(`mkfifo ${root}/pipe && ln -s ${root}/pipe ${root}/link`), 0);
    using _socket = Deno.listen({ transport: "unix", path: `${root}/socket` });
    for (const name of ["pipe", "link", "socket"]) {
      assert.equal(await files.readPlain(`${root}/${name}`, ANY), undefined, name);
      assert.equal(await files.readHead(`${root}/${name}`, 100), undefined, name);
    }
    // The kernel reports size 0 for generated files, however much a read returns.
    assert.equal(await files.readPlain("/proc/version", { ...ANY, uid: 0 }), "");
    assert.equal((await files.readHead("/proc/version", 100))?.bytes.length, 0);
  }));

Deno.test("readPlain() survives a file that is swapped for a pipe and back", () =>
  withFolder(async (files, root) => {
    const path = `${root}/a`;
    const swap = `cd ${root}; for i in $(seq 100); do mkfifo p; mv p a; echo x > q; mv q a; done`;
    const swapping = shell(swap);
    let isOver = false;
    swapping.finally(() => isOver = true);
    while (!isOver) {
      assert.ok([undefined, "x\n"].includes(await files.readPlain(path, ANY)));
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    assert.equal(await swapping, 0);
  }));

Deno.test({
  name: "readPlain() follows no linked folder, however often it is swapped",
  ignore: Deno.uid() !== 0,
  fn: () =>
    withFolder(async (files, root) => {
      const mia = 61_234;
      const lay = `cd ${root}; mkdir -p secret home/own; echo root > secret/state.json
        echo mine > home/own/state.json; chown -R ${mia} home; ln -s ${root}/secret home/away`;
      assert.equal(await shell(lay), 0);
      const of = { bytesMax: 100, uid: mia };
      assert.equal(await files.readPlain(`${root}/home/own/state.json`, of), "mine\n");
      assert.equal(await files.readPlain(`${root}/home/away/state.json`, of), undefined);
      const turn = `cd ${root}/home; for i in $(seq 80); do
        ln -s ${root}/secret l; mv -T l at; rm at; cp -rp own at; rm -r at; done`;
      const turning = shell(turn);
      let isOver = false;
      turning.finally(() => isOver = true);
      while (!isOver) {
        const text = await files.readPlain(`${root}/home/at/state.json`, of);
        assert.ok([undefined, "", "mine\n"].includes(text), `read ${text}`);
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
      assert.equal(await turning, 0);
    }),
});
