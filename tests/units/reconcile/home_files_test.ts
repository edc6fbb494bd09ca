/**
 * Files in homes: one suite for the plain port and for the child that has become the agent, and
 * what a link in a home can do to either (nothing, for the child).
 *
 * @module
 */

import assert from "node:assert/strict";
import { denoFiles } from "core/os/files.ts";
import { systemProcesses } from "core/os/processes.ts";
import { FileFault } from "core/ports.ts";
import { agentHomeFiles, type HomeFiles, ownHomeFiles } from "units/reconcile/home_files.ts";

const isRoot = Deno.uid() === 0;
const NOBODY = { name: "nobody", uid: 65534, gid: 65534, home: "/" };

async function withHome(uid: number, work: (home: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.chmod(folder, 0o755);
    const home = `${folder}/it's a home`;
    await Deno.mkdir(home, { mode: 0o700 });
    if (uid !== Deno.uid()) await Deno.chown(home, uid, uid);
    await work(home);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const SUBJECTS: readonly {
  readonly name: string;
  readonly uid: number;
  readonly files: HomeFiles;
}[] = [
  { name: "ownHomeFiles()", uid: Deno.uid() ?? 0, files: ownHomeFiles(denoFiles()) },
  ...(isRoot
    ? [{ name: "agentHomeFiles()", uid: 65534, files: agentHomeFiles(systemProcesses(), NOBODY) }]
    : []),
];
for (const { name, uid, files } of SUBJECTS) {
  Deno.test(`${name} writes what it reads back, with mode and owner, and makes folders 0700`, async () => {
    await withHome(uid, async (home) => {
      const path = `${home}/.runtime-b/agent/mcp.json`;
      assert.equal(await files.read(path), undefined);
      for (const text of ["{}\n", "", 'ü "quoted" $HOME `id`\n\n', "x".repeat(200_000)]) {
        await files.write(path, text, 0o600);
        assert.deepEqual(await files.read(path), { text, mode: 0o600 });
      }
      const stat = await Deno.stat(path);
      assert.equal(stat.uid, uid);
      assert.equal((await Deno.stat(`${home}/.runtime-b`)).mode! & 0o777, 0o700);
      assert.deepEqual([...Deno.readDirSync(`${home}/.runtime-b/agent`)].map((each) => each.name), [
        "mcp.json",
      ]);
    });
  });

  Deno.test(`${name} makes a folder with its mode`, async () => {
    await withHome(uid, async (home) => {
      const path = `${home}/.fleetctl/oauth/office-a`;
      assert.equal(await files.folderMode(path), undefined);
      await files.ensureFolder(path, 0o700);
      assert.equal(await files.folderMode(path), 0o700);
    });
  });

  Deno.test(`${name} tells a folder with something in it from one without`, async () => {
    await withHome(uid, async (home) => {
      const path = `${home}/oauth/office-a`;
      assert.equal(await files.isFilled(path), false);
      await files.ensureFolder(path, 0o700);
      assert.equal(await files.isFilled(path), false);
      await files.write(`${path}/.token`, "t", 0o600);
      assert.equal(await files.isFilled(path), true);
      assert.equal(await files.isFilled(`${path}/.token`), false);
      await Deno.symlink(path, `${home}/link`);
      assert.equal(await files.isFilled(`${home}/link`), false);
    });
  });

  Deno.test(`${name} replaces a link instead of following it`, async () => {
    await withHome(uid, async (home) => {
      const other = `${home}/other.json`;
      await files.write(other, "other", 0o600);
      await Deno.symlink(other, `${home}/mcp.json`);
      await files.write(`${home}/mcp.json`, "mine", 0o600);
      assert.equal(await Deno.readTextFile(other), "other");
    });
  });
}

Deno.test({
  name: "agentHomeFiles() neither reads nor writes through a link to what only root may",
  ignore: !isRoot,
  fn: () =>
    withHome(65534, async (home) => {
      const files = agentHomeFiles(systemProcesses(), NOBODY);
      const secret = await Deno.makeTempDir();
      await Deno.writeTextFile(`${secret}/mcp.json`, "root's");
      await Deno.symlink(secret, `${home}/.runtime-b`);
      const path = `${home}/.runtime-b/mcp.json`;
      assert.equal(await files.read(path), undefined);
      await assert.rejects(files.write(path, "agent's", 0o600), (thrown) =>
        thrown instanceof FileFault && thrown.code === "EACCES" && thrown.path === path);
      await assert.rejects(files.ensureFolder(`${home}/.runtime-b/new`, 0o700), FileFault);
      await Deno.mkdir(`${secret}/oauth/token`, { recursive: true });
      assert.equal(await files.isFilled(`${home}/.runtime-b/oauth`), false);
      assert.equal(await Deno.readTextFile(`${secret}/mcp.json`), "root's");
      await Deno.remove(secret, { recursive: true });
    }),
});
