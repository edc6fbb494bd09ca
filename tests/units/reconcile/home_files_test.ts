/**
 * Files in homes: one suite for the plain port and for the helper that runs under an agent's uid.
 * Attacks of an agent on the helper are in `home_helper_test.ts`.
 *
 * @module
 */

import assert from "node:assert/strict";
import { denoFiles } from "core/os/files.ts";
import { systemClock } from "core/os/clock.ts";
import { systemProcesses } from "core/os/processes.ts";
import { type HomeFiles, ownHomeFiles } from "units/reconcile/home_files.ts";
import { openHomeHelper } from "units/reconcile/home_helper.ts";

const isRoot = Deno.uid() === 0;
const NOBODY = { name: "nobody", uid: 65534, gid: 65534, home: "/" };
const PORTS = { processes: systemProcesses(), clock: systemClock() };

type Work = (home: string, files: HomeFiles) => Promise<void>;

async function withHome(uid: number, open: Subject["with"], work: Work): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.chmod(folder, 0o755);
    const home = `${folder}/it's a home`;
    await Deno.mkdir(home, { mode: 0o700 });
    if (uid !== Deno.uid()) await Deno.chown(home, uid, uid);
    await open(home, (files) => work(home, files));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

interface Subject {
  readonly name: string;
  readonly uid: number;
  readonly with: (home: string, work: (files: HomeFiles) => Promise<void>) => Promise<void>;
}

const SUBJECTS: readonly Subject[] = [
  {
    name: "ownHomeFiles()",
    uid: Deno.uid() ?? 0,
    with: (_, work) => work(ownHomeFiles(denoFiles())),
  },
  ...(isRoot
    ? [{
      name: "openHomeHelper()",
      uid: NOBODY.uid,
      with: async (home: string, work: (files: HomeFiles) => Promise<void>) => {
        const homes = openHomeHelper(PORTS, 60_000);
        try {
          await work(homes.of(NOBODY, home));
        } finally {
          await homes.close();
        }
      },
    }]
    : []),
];
for (const { name, uid, with: open } of SUBJECTS) {
  Deno.test(`${name} reads back what it wrote, mode and owner; folders are 0700`, async () => {
    await withHome(uid, open, async (home, files) => {
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
    await withHome(uid, open, async (home, files) => {
      const path = `${home}/.fleetctl/oauth/office-a`;
      assert.equal(await files.folderMode(path), undefined);
      await files.ensureFolder(path, 0o700);
      assert.equal(await files.folderMode(path), 0o700);
    });
  });

  Deno.test(`${name} distinguishes an empty folder from one with files`, async () => {
    await withHome(uid, open, async (home, files) => {
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
    await withHome(uid, open, async (home, files) => {
      const other = `${home}/other.json`;
      await files.write(other, "other", 0o600);
      await Deno.symlink(other, `${home}/mcp.json`);
      await files.write(`${home}/mcp.json`, "mine", 0o600);
      assert.equal(await Deno.readTextFile(other), "other");
    });
  });
}
