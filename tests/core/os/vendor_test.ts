/**
 * Which links a package tree may contain. No link may lead out of the tree in any way: the hash of
 * the tree would not cover what runs.
 *
 * @module
 */

import assert from "node:assert/strict";
import { denoTrees } from "core/os/vendor.ts";
import { FileFault } from "core/ports/files.ts";

/** Links by location, and whether the tree is accepted. `a/b/c` and `a/file` exist. */
const TREES: readonly {
  readonly name: string;
  readonly links: Readonly<Record<string, string>>;
  readonly isTaken: boolean;
}[] = [
  { name: "to a file beside it", links: { "a/l": "file" }, isTaken: true },
  { name: "upwards and down again", links: { "a/b/l": "../../a/./file" }, isTaken: true },
  { name: "to the root of the tree", links: { "a/b/l": "../.." }, isTaken: true },
  { name: "to a missing file inside", links: { "l": "none/there" }, isTaken: true },
  { name: "to a name that begins with two dots", links: { "l": "..data" }, isTaken: true },
  { name: "through another link, downwards", links: { "d": "a/b", "l": "d/c" }, isTaken: true },
  { name: "that is absolute", links: { "l": "/etc" }, isTaken: false },
  { name: "above the root", links: { "a/l": "../../etc" }, isTaken: false },
  { name: "above the root, through a dot", links: { "l": "./../etc" }, isTaken: false },
  {
    name: "that leads up from the target of another link",
    links: { "a/b/c/top": "../../..", "l": "a/b/c/top/../../etc" },
    isTaken: false,
  },
  { name: "that goes up after a folder", links: { "l": "a/b/../file" }, isTaken: false },
];

for (const { name, links, isTaken } of TREES) {
  Deno.test(`denoTrees() ${isTaken ? "accepts" : "refuses"} a link ${name}`, async () => {
    const folder = await Deno.makeTempDir();
    try {
      await Deno.mkdir(`${folder}/tree/a/b/c`, { recursive: true });
      await Deno.writeTextFile(`${folder}/tree/a/file`, "x");
      for (const [place, target] of Object.entries(links)) {
        await Deno.symlink(target, `${folder}/tree/${place}`);
      }
      const trees = denoTrees();
      const works = [
        () => trees.summarize(`${folder}/tree`),
        () => trees.copy(`${folder}/tree`, `${folder}/copy`, []),
      ];
      for (const work of works) {
        if (isTaken) await work();
        else {
          await assert.rejects(
            work,
            (thrown: unknown) => thrown instanceof FileFault && thrown.code === "ELOOP",
          );
        }
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}
