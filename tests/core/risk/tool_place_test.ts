/**
 * Paths of a call: which of them lie in the workspace. The last tests write to a real disk: what
 * counts as inside never leaves the workspace, however the program reads `..`.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { denoFiles } from "core/os/files.ts";
import type { ToolClass } from "core/risk/builtin_tools.ts";
import { argumentPaths, placeOf } from "core/risk/tool_place.ts";
import { memoryFiles } from "tests/fakes/files.ts";

const WORKSPACE = { folder: "/home/ada/ws", home: "/home/ada" };

async function bench() {
  const files = memoryFiles({
    "/home/ada/ws/a.txt": "",
    "/home/ada/ws/sub/b.txt": "",
    "/home/ada/ws/.git/config": "",
    "/home/ada/keys": "",
    "/etc/passwd": "",
    "/data/ada/c.txt": "",
  });
  await files.symlink("/etc", "/home/ada/ws/out");
  await files.symlink("..", "/home/ada/ws/up");
  await files.symlink("sub", "/home/ada/ws/in");
  await files.symlink("../a.txt", "/home/ada/ws/sub/back");
  await files.symlink("/nowhere/x", "/home/ada/ws/dangling");
  await files.symlink("loop", "/home/ada/ws/loop");
  await files.symlink(".git", "/home/ada/ws/git");
  await files.symlink("sub", "/home/ada/ws/.husky");
  await files.symlink("/data/ada", "/home/ada/linked");
  await files.symlink("/home/ada/ws/sub", "/home/ada/door");
  return files;
}

const INSIDE = [
  "/home/ada/ws/a.txt",
  "/home/ada/ws/new.txt",
  "/home/ada/ws/new/folder/file",
  "/home/ada/ws//sub/./b.txt",
  "/home/ada/ws/sub/",
  "/home/ada/ws/sub/../a.txt",
  "/home/ada/ws/in/b.txt",
  "/home/ada/ws/sub/back",
  "/home/ada/ws/a b.txt",
  "/home/ada/ws/$id.tsx",
  "/home/ada/ws/été.txt",
  "a.txt",
  "./sub/b.txt",
  "~/ws/a.txt",
];

const OUTSIDE = [
  // Elsewhere.
  "/etc/passwd",
  "/home/ada/keys",
  "/home/ada/ws-evil/a.txt",
  "/home/ada/w",
  "/HOME/ada/ws/a.txt",
  "/home/ada/WS/a.txt",
  "/",
  "~",
  "~/keys",
  "../keys",
  // `..`
  "/home/ada/ws/../keys",
  "/home/ada/ws/..",
  "/home/ada/ws/sub/../../keys",
  "/home/ada/ws/../ws/a.txt",
  "/home/ada/ws/new/../a.txt",
  // The kernel goes to /a.txt, a program that reads the text to ws/a.txt.
  "/home/ada/ws/out/../a.txt",
  "/home/ada/ws/in/../a.txt",
  // Links.
  "/home/ada/ws/out",
  "/home/ada/ws/out/passwd",
  "/home/ada/ws/out/new",
  "/home/ada/ws/up/keys",
  "/home/ada/ws/dangling",
  "/home/ada/ws/dangling/x",
  "/home/ada/ws/loop",
  "/home/ada/ws/a.txt/x",
  // Inside, but not by a path that says so.
  "/home/ada/door/b.txt",
  // What a program may read in another way.
  "",
  " /home/ada/ws/a.txt",
  "a.txt ",
  "a.txt\0",
  "a\n.txt",
  "a\u00a0b.txt",
  "a\u200bb.txt",
  "e\u0301te\u0301.txt",
  "a\\..\\b.txt",
  "\ud800.txt",
  "@a.txt",
  "@/etc/passwd",
  "~bea/x",
  "~root",
  "file:///etc/passwd",
  "FILE:a.txt",
  "a/".repeat(2500),
];

/** Inside for a read, not for an edit. */
const SOURCES = [
  "/home/ada/ws",
  "/home/ada/ws/",
  "/home/ada/ws/sub/..",
  ".",
  "/home/ada/ws/.git/config",
  "/home/ada/ws/.git/hooks/pre-commit",
  "/home/ada/ws/git/config",
  "/home/ada/ws/.husky/pre-commit",
  "/home/ada/ws/sub/.claude/settings.json",
  "/home/ada/ws/.envrc",
  "/home/ada/ws/opencode.json",
];

const place = async (toolClass: ToolClass, ...paths: string[]) =>
  await placeOf({ toolClass, paths }, WORKSPACE, await bench());

Deno.test("placeOf() returns inside for files of the workspace", async () => {
  for (const path of INSIDE) {
    assert.equal(await place("edit", path), "inside", path);
    assert.equal(await place("read", path), "inside", path);
  }
});

Deno.test("placeOf() returns outside for files that are, or may be, elsewhere", async () => {
  for (const path of OUTSIDE) {
    const shown = JSON.stringify(path).slice(0, 80);
    assert.equal(await place("edit", path), "outside", shown);
    assert.equal(await place("read", path), "outside", shown);
    assert.equal(await place("edit", "a.txt", path), "outside", shown);
  }
});

Deno.test("placeOf() allows only reading of files with commands for programs", async () => {
  for (const path of SOURCES) {
    assert.equal(await place("read", path), "inside", path);
    assert.equal(await place("edit", path), "outside", path);
  }
});

Deno.test("placeOf() returns outside for other classes, and edits without path", async () => {
  for (const each of ["command", "web", "other"] as const) {
    assert.equal(await place(each, "a.txt"), "outside");
    assert.equal(await place(each), "outside");
  }
  assert.equal(await place("edit"), "outside");
  assert.equal(await place("read"), "inside");
});

Deno.test("placeOf() accepts a workspace that is a link, by both of its names", async () => {
  const files = await bench();
  const workspace = { folder: "/home/ada/linked", home: "/home/ada" };
  for (
    const [path, want] of [
      ["/home/ada/linked/c.txt", "inside"],
      ["/data/ada/c.txt", "inside"],
      ["/data/ada/new", "inside"],
      ["c.txt", "inside"],
      ["/home/ada/linked/../keys", "outside"],
      ["/data/ada/../x", "outside"],
      ["/data/x", "outside"],
    ] as const
  ) {
    assert.equal(await placeOf({ toolClass: "edit", paths: [path] }, workspace, files), want, path);
  }
});

Deno.test("placeOf() returns outside if the workspace is missing or unknown", async () => {
  const files = await bench();
  const act = { toolClass: "edit" as const, paths: ["a.txt"] };
  assert.equal(await placeOf(act, undefined, files), "outside");
  const gone = { folder: "/home/ada/gone", home: "/home/ada" };
  assert.equal(await placeOf(act, gone, files), "outside");
});

Deno.test("argumentPaths() returns every path of a call", () => {
  for (
    const [given, want] of [
      [{ file_path: "/a", old_string: "x" }, ["/a"]],
      [{ path: "a", filePath: "b" }, ["a", "b"]],
      [{ notebook_path: "/n.ipynb" }, ["/n.ipynb"]],
      [{ path: ["a"] }, [""]],
      [{ path: null }, []],
      [{ command: "ls" }, []],
      ["/a", []],
      [undefined, []],
    ] as const
  ) {
    assert.deepEqual(argumentPaths(given), want, JSON.stringify(given));
  }
});

Deno.test("a write to a path that counts as inside never lands outside", async () => {
  const root = await Deno.realPath(await Deno.makeTempDir());
  try {
    const folder = `${root}/home/ws`;
    const fresh = async () => {
      await Deno.remove(`${root}/home`, { recursive: true }).catch(() => {});
      await Deno.mkdir(`${folder}/sub/deep`, { recursive: true });
      await Deno.mkdir(`${root}/home/out/deep`, { recursive: true });
      await Deno.symlink(`${root}/home/out`, `${folder}/abs`);
      await Deno.symlink("../../out", `${folder}/sub/rel`);
      await Deno.symlink("sub/deep", `${folder}/in`);
      await Deno.symlink("nowhere", `${folder}/gone`);
      await Deno.symlink(folder, `${root}/home/ws2`);
    };
    const part = fc.constantFrom(
      "..",
      ".",
      "sub",
      "deep",
      "abs",
      "rel",
      "in",
      "gone",
      "x",
      "ws",
      "",
    );
    const path = fc.tuple(
      fc.constantFrom("", `${folder}/`, `${root}/home/ws2/`, "~/ws/", "~/", "/"),
      fc.array(part, { maxLength: 5 }),
    ).map(([top, parts]) => `${top}${parts.join("/")}`);
    await fresh();
    let inside = 0;
    await fc.assert(
      fc.asyncProperty(path, async (tried) => {
        const workspace = { folder, home: `${root}/home` };
        const act = { toolClass: "edit" as const, paths: [tried] };
        if (await placeOf(act, workspace, denoFiles()) === "outside") return;
        inside++;
        for (const way of ["kernel", "text"] as const) {
          const end = await written(tried, { folder, home: `${root}/home`, way });
          await fresh();
          assert.ok(end === undefined || end.startsWith(`${folder}/`), `${tried} → ${end}`);
        }
      }),
      { numRuns: 300 },
    );
    assert.ok(inside > 0, "some paths are inside");
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

/** Writes as a program does; returns where the file is, or undefined when that fails. */
async function written(
  path: string,
  { folder, home, way }: { readonly folder: string; readonly home: string; readonly way: string },
): Promise<string | undefined> {
  const whole = path.startsWith("~") ? home + path.slice(1) : path;
  const absolute = whole.startsWith("/") ? whole : `${folder}/${whole}`;
  // Deno applies `..` to the text. The kernel gets it unchanged as the target of a link.
  const link = `${home}/probe`;
  try {
    if (way === "text") await Deno.mkdir(absolute.replace(/[^/]*$/, ""), { recursive: true });
    else await Deno.symlink(absolute, link);
    const at = way === "text" ? absolute : link;
    await Deno.writeTextFile(at, "x");
    return await Deno.realPath(at);
  } catch {
    return undefined;
  }
}
