/**
 * The tools `read`, `edit` and `write` on files in memory.
 *
 * @module
 */

import assert from "node:assert/strict";
import { openHost } from "core/os/host.ts";
import { memoryFiles } from "tests/fakes/files.ts";
import { fileTools } from "units/agent_loop/tools/files.ts";
import type { ToolOutcome } from "units/agent_loop/tools/tool.ts";

const never = new AbortController().signal;

function make(initial: Readonly<Record<string, string>> = {}) {
  const files = memoryFiles({ "/home/ada/keep": "", ...initial });
  const tools = fileTools({ cwd: "/home/ada", home: "/home/ada" }, files);
  const run = async (name: string, input: unknown): Promise<ToolOutcome> => {
    const tool = tools.find((each) => each.name === name);
    if (tool === undefined) throw new Error(name);
    return await tool.run(input, never);
  };
  return { files, run };
}

Deno.test("read numbers lines, returns a range, and states the range", async () => {
  const { run } = make({ "/home/ada/a.txt": "one\ntwo\nthree\n" });
  assert.equal((await run("read", { path: "a.txt" })).text, "1\tone\n2\ttwo\n3\tthree");
  assert.equal(
    (await run("read", { path: "~/a.txt", offset: 2, limit: 1 })).text,
    "2\ttwo\n[lines 2 to 2 of 3]",
  );
  const past = await run("read", { path: "a.txt", offset: 9 });
  assert.deepEqual(past, {
    status: "failed",
    text: "Cannot read from line 9: the file has 3 lines",
  });
});

Deno.test("read lists a folder and names what cannot be read", async () => {
  const { run, files } = make({ "/home/ada/sub/b": "x", "/home/ada/empty": "" });
  assert.equal((await run("read", { path: "." })).text, "empty\nkeep\nsub/");
  assert.equal((await run("read", { path: "empty" })).text, "[empty file]");
  assert.match((await run("read", { path: "none" })).text, /there is no such file/);
  await files.write("/home/ada/binary", new Uint8Array([0xff, 0xfe, 0x00]));
  assert.match((await run("read", { path: "binary" })).text, /not UTF-8 text; use bash/);
  await files.write("/home/ada/huge", new Uint8Array(17 * 1024 * 1024));
  assert.match((await run("read", { path: "huge" })).text, /must have at most/);
});

Deno.test("read and write report what exists in place of a file", async () => {
  const files = openHost({ log: { program: "test", level: "error" } }).files;
  const tools = fileTools({ cwd: "/", home: "/" }, files);
  for (const [name, input] of [["read", {}], ["write", { content: "x" }]] as const) {
    const tool = tools.find((each) => each.name === name);
    const output = await tool?.run({ path: "/dev/zero", ...input }, never);
    assert.deepEqual(output, {
      status: "failed",
      text: `Cannot ${name} "/dev/zero": it is a device, pipe or socket, must be a regular file`,
    });
  }
});

Deno.test("read bounds what it returns", async () => {
  const line = "x".repeat(1000);
  const { run } = make({ "/home/ada/long": `${line}\n`.repeat(1500) });
  const { text } = await run("read", { path: "long" });
  assert.ok(text.length <= 256 * 1024 + 100);
  assert.match(text, /\[lines 1 to \d+ of 1500\]$/);
});

Deno.test("edit replaces one exact, unique text and keeps the mode", async () => {
  const { run, files } = make({ "/home/ada/a.sh": "#!/bin/sh\necho one\necho two\n" });
  await files.setMeta("/home/ada/a.sh", { mode: 0o750 });
  const outcome = await run("edit", { path: "a.sh", old_text: "echo two", new_text: "echo $2" });
  assert.equal(outcome.status, "completed", outcome.text);
  assert.equal(files.text("/home/ada/a.sh"), "#!/bin/sh\necho one\necho $2\n");
  assert.equal((await files.stat("/home/ada/a.sh"))?.mode, 0o750);
});

Deno.test("edit changes nothing when the text is missing, ambiguous or the same", async () => {
  const { run, files } = make({ "/home/ada/a": "aaa b b" });
  const rows = [
    [{ old_text: "zzz", new_text: "y" }, /not in it/],
    [{ old_text: "b", new_text: "y" }, /in it 2 times, must be unique/],
    [{ old_text: "aa", new_text: "y" }, /in it 2 times, must be unique/],
    [{ old_text: "aaa", new_text: "aaa" }, /both texts are the same/],
    [{ old_text: "", new_text: "y" }, /old_text/],
  ] as const;
  for (const [texts, says] of rows) {
    const outcome = await run("edit", { path: "a", ...texts });
    assert.equal(outcome.status, "failed");
    assert.match(outcome.text, says);
  }
  assert.equal(files.text("/home/ada/a"), "aaa b b");
});

Deno.test("write creates folders, replaces files, follows links and refuses folders", async () => {
  const { run, files } = make({ "/home/ada/real": "old" });
  assert.match((await run("write", { path: "new/dir/f", content: "x" })).text, /^\[created/);
  assert.equal(files.text("/home/ada/new/dir/f"), "x");
  await files.symlink("real", "/home/ada/link");
  assert.match((await run("write", { path: "link", content: "new" })).text, /^\[replaced/);
  assert.equal(files.text("/home/ada/real"), "new");
  assert.equal(await files.readLink("/home/ada/link"), "real");
  assert.match((await run("write", { path: "new", content: "x" })).text, /must be a regular file/);
  await files.symlink("loop", "/home/ada/loop");
  assert.match((await run("write", { path: "loop", content: "x" })).text, /too many links/);
});

Deno.test("write reports a full disk", async () => {
  const { run, files } = make();
  files.failUnder("/home/ada", "ENOSPC");
  const outcome = await run("write", { path: "f", content: "x" });
  assert.equal(outcome.status, "failed");
  assert.match(outcome.text, /ENOSPC/);
});
