/**
 * Properties that need a database on disk: modes, durability, locks and faults of the file.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Database, Databases } from "core/ports/databases.ts";
import { FileFault } from "core/ports/files.ts";
import { sqliteDatabases } from "core/os/sqlite.ts";

const isRoot = Deno.uid() === 0;

async function withFolder(run: (databases: Databases, root: string) => Promise<void>) {
  const root = await Deno.makeTempDir();
  try {
    await run(sqliteDatabases(), root);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

async function modeOf(path: string): Promise<number> {
  return ((await Deno.lstat(path)).mode ?? 0) & 0o777;
}

async function faultOf(work: () => unknown): Promise<FileFault> {
  try {
    await work();
  } catch (thrown) {
    assert.ok(thrown instanceof FileFault, String(thrown));
    return thrown;
  }
  assert.fail("nothing was thrown");
}

Deno.test("open() makes all its files 0600, and repairs the mode of an old one", () =>
  withFolder(async (databases, root) => {
    const path = `${root}/db`;
    const db = await databases.open(path);
    db.exec("CREATE TABLE t (n)");
    for (const name of ["db", "db-wal", "db-shm"]) {
      assert.equal(await modeOf(`${root}/${name}`), 0o600, name);
    }
    db.close();
    await Deno.chmod(path, 0o644);
    (await databases.open(path)).close();
    assert.equal(await modeOf(path), 0o600);
  }));

Deno.test("open() uses WAL with synchronous FULL and waits for other writers", () =>
  withFolder(async (databases, root) => {
    const db = await databases.open(`${root}/db`);
    const pragma = (name: string) => Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0];
    assert.equal(pragma("journal_mode"), "wal");
    assert.equal(pragma("synchronous"), 2);
    assert.equal(pragma("busy_timeout"), 5_000);
    assert.equal(pragma("foreign_keys"), 1);
    assert.equal(pragma("trusted_schema"), 0);
    db.close();
  }));

Deno.test("open() returns rows that were committed before a kill -9", () =>
  withFolder(async (_, root) => {
    const script = `
      import { sqliteDatabases } from ${JSON.stringify(import.meta.resolve("core/os/sqlite.ts"))};
      const db = await sqliteDatabases().open(${JSON.stringify(`${root}/db`)});
      db.exec("CREATE TABLE t (n INTEGER)");
      const insert = db.prepare("INSERT INTO t VALUES (?)");
      for (let n = 1; n <= 50; n++) db.transaction(() => insert.run(n));
      db.exec("BEGIN IMMEDIATE");
      insert.run(51);
      Deno.kill(Deno.pid, "SIGKILL");
    `;
    const child = new Deno.Command(Deno.execPath(), {
      args: ["eval", script],
      cwd: new URL("../../..", import.meta.url).pathname,
      stderr: "null",
    });
    assert.equal((await child.output()).signal, "SIGKILL");
    const db = await sqliteDatabases().open(`${root}/db`);
    assert.equal(db.prepare("SELECT count(*) AS n FROM t").get()?.["n"], 50);
    db.close();
  }));

Deno.test("open() names what is wrong with a file", () =>
  withFolder(async (databases, root) => {
    await Deno.writeTextFile(`${root}/text`, "this is no database, only text\n".repeat(200));
    await Deno.mkdir(`${root}/dir`);
    await Deno.symlink(`${root}/text`, `${root}/link`);
    const rows = [
      ["none/db", "ENOENT"],
      ["text", "EIO"],
      ["dir", "EISDIR"],
      ["link", "ELOOP"],
    ] as const;
    for (const [name, code] of rows) {
      const fault = await faultOf(() => databases.open(`${root}/${name}`));
      assert.deepEqual([fault.code, fault.path], [code, `${root}/${name}`], fault.message);
    }
    assert.equal(
      (await faultOf(() => databases.open(`${root}/text`))).message.startsWith(
        `Cannot open "${root}/text": the file is not a database`,
      ),
      true,
    );
  }));

Deno.test({
  name: "run() and open() are ENOSPC on a full disk, and what was committed stays",
  ignore: !isRoot,
  fn: () =>
    withFolder(async (databases, root) => {
      const folder = `${root}/small`;
      await Deno.mkdir(folder);
      await shell(`mount -t tmpfs -o size=400k tmpfs '${folder}'`);
      try {
        const db = await databases.open(`${folder}/db`);
        try {
          fillUp(db);
        } finally {
          db.close();
        }
        await Deno.writeFile(`${folder}/fill`, new Uint8Array(500_000)).catch(() => {});
        const fault = await faultOf(() => databases.open(`${folder}/other`));
        assert.equal(fault.code, "ENOSPC", fault.message);
      } finally {
        await shell(`umount '${folder}'`);
      }
    }),
});

async function shell(script: string): Promise<void> {
  const { code } = await new Deno.Command("/bin/sh", { args: ["-c", script] }).output();
  assert.equal(code, 0, script);
}

function fillUp(db: Database): void {
  db.exec("CREATE TABLE t (body TEXT)");
  const insert = db.prepare("INSERT INTO t VALUES (?)");
  insert.run("kept");
  const want = (thrown: unknown) => {
    assert.ok(thrown instanceof FileFault, String(thrown));
    assert.equal(thrown.code, "ENOSPC");
    assert.match(thrown.message, /^Cannot use ".*\/small\/db": no space left on the disk/);
    return true;
  };
  const long = "x".repeat(20_000);
  assert.throws(() => {
    for (let round = 0; round < 100; round++) db.transaction(() => insert.run(long));
  }, want);
  assert.throws(() => db.exec(`INSERT INTO t VALUES ('${long.repeat(20)}')`), want);
  assert.equal(db.prepare("SELECT body FROM t").get()?.["body"], "kept");
}
