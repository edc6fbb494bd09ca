/**
 * Takes the checks of the login proxy out, one at a time, in a copy of the tree: at least one test must turn
 * red for each. `FLEETCTL_ROUNDS` says how many are tried; the next ones in the list each day.
 *
 * @module
 */

import assert from "node:assert/strict";
import { TREE } from "tests/support/module_graph.ts";
import { HTTP_MUTANTS } from "tests/login/http_mutants.ts";
import { MUTANTS } from "tests/login/mutants.ts";
import { OIDC_MUTANTS } from "tests/login/oidc_mutants.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? 4);
const DAY_MS = 86_400_000;
const ALL = [...MUTANTS, ...HTTP_MUTANTS, ...OIDC_MUTANTS];
const FOLDERS = ["core", "login", "tests/core", "tests/fakes", "tests/login", "tests/support"];

Deno.test("the code of every check is there exactly once", async () => {
  for (const { check, file, from } of ALL) {
    const text = await Deno.readTextFile(TREE + file);
    assert.equal(text.split(from).length, 2, `${check}: ${file}`);
  }
});

Deno.test("taking any check out turns a test red", async (t) => {
  const copy = await Deno.makeTempDir({ prefix: "mutants-" });
  try {
    for (const folder of FOLDERS) await copyFolder(`${TREE}${folder}`, `${copy}/${folder}`);
    for (const file of ["deno.json", "deno.lock"]) {
      await Deno.copyFile(`${TREE}${file}`, `${copy}/${file}`);
    }
    await Deno.mkdir(`${copy}/gateway/web`, { recursive: true });
    await Deno.copyFile(`${TREE}gateway/web/deno.json`, `${copy}/gateway/web/deno.json`);
    const start = Math.floor(Date.now() / DAY_MS) * ROUNDS;
    for (let round = 0; round < Math.min(ROUNDS, ALL.length); round++) {
      const mutant = ALL[(start + round) % ALL.length];
      if (mutant === undefined) continue;
      await t.step(`without ${mutant.check}`, async () => {
        const path = `${copy}/${mutant.file}`;
        const text = await Deno.readTextFile(path);
        await Deno.writeTextFile(path, text.replace(mutant.from, () => mutant.to));
        try {
          const { success, stdout } = await new Deno.Command(Deno.execPath(), {
            args: ["test", "-q", "-A", "--no-check", "--fail-fast", ...mutant.tests],
            cwd: copy,
            stdin: "null",
            stdout: "piped",
            stderr: "null",
          }).output();
          const said = new TextDecoder().decode(stdout);
          assert.equal(success, false, "every test passes without it");
          assert.match(said, /FAILED/, "a test failed, and not the program");
        } finally {
          await Deno.writeTextFile(path, text);
        }
      });
    }
  } finally {
    await Deno.remove(copy, { recursive: true });
  }
});

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copyFolder(`${from}/${name}`, `${to}/${name}`);
    else await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}
