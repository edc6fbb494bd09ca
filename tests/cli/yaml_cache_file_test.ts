/**
 * Root trusts a cache file of parsed YAML only when root alone can have written it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { withYamlCache } from "cli/yaml_cache_file.ts";
import { denoFiles } from "core/os/files.ts";
import { pathsUnder } from "core/paths.ts";
import { FileFault, type Files } from "core/ports/files.ts";
import { parseCachedYaml } from "core/text/yaml_cache.ts";

const TEXT = "name: ada\n";
const UID = Deno.uid() ?? 0;

async function withRoot(
  work: (run: (over?: Partial<Run>) => Promise<unknown>, file: string) => Promise<void>,
): Promise<void> {
  const root = await Deno.makeTempDir();
  const paths = pathsUnder(root);
  await Deno.mkdir(paths.state, { recursive: true, mode: 0o755 });
  try {
    await work(async ({ uid = UID, version = "1", files = denoFiles() } = {}) => {
      const users = { currentUid: () => uid } as never;
      return await withYamlCache({ ports: { files, users }, paths, version }, async () => {
        const parsed = parseCachedYaml(TEXT, "x.yaml");
        return parsed.ok ? parsed.value.value : undefined;
      });
    }, paths.yamlCache);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

interface Run {
  readonly uid: number;
  readonly version: string;
  readonly files: Files;
}

const FORGED = { name: "forged" };

/** Stores another value for the same text, which shows whether the file is trusted. */
async function forge(file: string): Promise<void> {
  await Deno.writeTextFile(file, JSON.stringify({ version: "1", texts: [[TEXT, FORGED]] }));
}

Deno.test("withYamlCache() stores values for their owner alone, and trusts them", async () => {
  await withRoot(async (run, file) => {
    assert.deepEqual(await run(), { name: "ada" });
    assert.equal(((await Deno.stat(file)).mode ?? 0) & 0o777, 0o600);
    await forge(file);
    assert.deepEqual(await run(), FORGED);
    const { mtime } = await Deno.stat(file);
    await run();
    assert.deepEqual((await Deno.stat(file)).mtime, mtime, "nothing new, nothing written");
  });
});

Deno.test("withYamlCache() trusts no invalid file and none that others could write", async () => {
  const folderOf = (file: string) => file.slice(0, file.lastIndexOf("/"));
  const attacks: Record<string, (file: string) => Promise<void> | void> = {
    "mode of the file": (file) => Deno.chmod(file, 0o620),
    "mode of the folder": (file) => Deno.chmod(folderOf(file), 0o775),
    "a link": async (file) => {
      await Deno.rename(file, `${file}.real`);
      await Deno.symlink(`${file}.real`, file);
    },
    "another form": (file) => Deno.writeTextFile(file, '{"version":"1","texts":[["a"]]}'),
    "no JSON": (file) => Deno.writeTextFile(file, "{"),
  };
  if (UID === 0) {
    attacks["owner of the file"] = (file) => Deno.chown(file, 1, 1);
    attacks["owner of the folder"] = (file) => Deno.chown(folderOf(file), 1, 1);
  }
  for (const [what, attack] of Object.entries(attacks)) {
    await withRoot(async (run, file) => {
      await run();
      await forge(file);
      assert.deepEqual(await run(), FORGED, "trusted before the attack");
      await attack(file);
      assert.deepEqual(await run(), { name: "ada" }, what);
    });
  }
});

Deno.test("withYamlCache() trusts no other version's file, and works on a full disk", async () => {
  await withRoot(async (run, file) => {
    await run();
    await forge(file);
    assert.deepEqual(await run({ version: "2" }), { name: "ada" });
    await Deno.remove(file);
    const full: Files = {
      ...denoFiles(),
      write: async (path) => {
        throw new FileFault("ENOSPC", path, "no space is left");
      },
    };
    assert.deepEqual(await run({ files: full }), { name: "ada" });
  });
});
