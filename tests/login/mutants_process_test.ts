/**
 * Removes checks of the login proxy, one at a time, in a copy of the tree: at least one test must
 * fail for each. `FLEETCTL_ROUNDS` sets how many run, from the start of the list. The default is a
 * fixed set plus those of changed files (`chosen_mutants.ts`).
 *
 * @module
 */

import assert from "node:assert/strict";
import { TREE } from "tests/support/module_graph.ts";
import { ALWAYS, changedFiles, chooseMutants } from "tests/login/chosen_mutants.ts";
import { HTTP_MUTANTS } from "tests/login/http_mutants.ts";
import { MUTANTS } from "tests/login/mutants.ts";
import { OIDC_MUTANTS } from "tests/login/oidc_mutants.ts";

const ROUNDS = Deno.env.get("FLEETCTL_ROUNDS");
const ALL = [...MUTANTS, ...HTTP_MUTANTS, ...OIDC_MUTANTS];
const FOLDERS = ["core", "login", "tests/core", "tests/fakes", "tests/login", "tests/support"];

Deno.test("the code of every check occurs exactly once", async () => {
  for (const { check, file, from } of ALL) {
    const text = await Deno.readTextFile(TREE + file);
    assert.equal(text.split(from).length, 2, `${check}: ${file}`);
  }
});

Deno.test("a run tries the fixed checks, and those of files that changed", () => {
  const fixed = chooseMutants(ALL, new Set());
  assert.deepEqual(fixed.map(({ check }) => check).toSorted(), ALWAYS.toSorted());
  const more = chooseMutants(ALL, new Set(["login/oidc/fetch.ts", "README.md"]));
  const added = more.filter((mutant) => !fixed.includes(mutant));
  assert.ok(added.length > 0 && added.every(({ file }) => file === "login/oidc/fetch.ts"));
});

Deno.test("removing a check makes a test fail", async (t) => {
  const copy = await Deno.makeTempDir({ prefix: "mutants-" });
  try {
    for (const folder of FOLDERS) await copyFolder(`${TREE}${folder}`, `${copy}/${folder}`);
    for (const file of ["deno.json", "deno.lock"]) {
      await Deno.copyFile(`${TREE}${file}`, `${copy}/${file}`);
    }
    await Deno.mkdir(`${copy}/gateway/web`, { recursive: true });
    await Deno.copyFile(`${TREE}gateway/web/deno.json`, `${copy}/gateway/web/deno.json`);
    const chosen = ROUNDS === undefined
      ? chooseMutants(ALL, await changedFiles())
      : ALL.slice(0, Number(ROUNDS));
    for (const mutant of chosen) {
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
          const printed = new TextDecoder().decode(stdout);
          assert.equal(success, false, "every test passes without it");
          assert.match(printed, /FAILED/, "a test failed, and not the program");
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
