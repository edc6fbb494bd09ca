/**
 * Changes of the memory: what each does, what is refused, and that concurrent ones are all kept.
 *
 * @module
 */

import assert from "node:assert/strict";
import { denoFiles } from "core/os/files.ts";
import { byteLength } from "core/text/cut_text.ts";
import {
  changeMemory,
  ENTRY_LENGTH_MAX,
  MEMORY_BYTES_MAX,
  type MemoryChange,
} from "units/agent_loop/memory/memory.ts";
import { memoryPath, rememberTool } from "units/agent_loop/memory/remember_tool.ts";
import { memoryFiles } from "tests/fakes/files.ts";

const TEA = "# Notes of Ada\n\n- likes tea\n- likes tea with milk\n";
const SIGNAL = new AbortController().signal;

const CHANGES: readonly {
  readonly name: string;
  readonly memory?: string;
  readonly change: MemoryChange;
  readonly is: string | RegExp;
}[] = [
  { name: "adds the first entry", memory: "", change: { text: "likes tea" }, is: "- likes tea\n" },
  {
    name: "adds one line",
    memory: "by hand, without a line end",
    change: { text: " - likes\n\n  tea " },
    is: "by hand, without a line end\n- likes tea\n",
  },
  { name: "adds nothing twice", change: { text: "likes tea" }, is: TEA },
  {
    name: "replaces the line that is exactly so",
    change: { text: "likes coffee", replaces: "likes tea" },
    is: TEA.replace("tea\n", "coffee\n"),
  },
  {
    name: "replaces by a part of one line",
    change: { text: "likes coffee", replaces: "with milk" },
    is: TEA.replace("tea with milk", "coffee"),
  },
  {
    name: "replaces by an entry that exists, and keeps it once",
    change: { text: "likes tea", replaces: "with milk" },
    is: TEA.replace("- likes tea with milk\n", ""),
  },
  {
    name: "forgets a line that a person wrote",
    change: { replaces: "# Notes of Ada" },
    is: TEA.replace("# Notes of Ada\n", ""),
  },
  { name: "forgets the last one", memory: "- a\n", change: { replaces: "a" }, is: "" },
  { name: "refuses nothing", change: { text: " ", replaces: "\n" }, is: /neither text nor repl/ },
  {
    name: "refuses an unknown line",
    change: { replaces: "wine" },
    is: /: no line contains "wine"/,
  },
  {
    name: "refuses an unclear line",
    change: { replaces: "likes" },
    is: /: 2 lines contain "likes/,
  },
  {
    name: "refuses a long entry",
    change: { text: "x".repeat(ENTRY_LENGTH_MAX + 1) },
    is: /has 501 characters, must have at most 500; shorten it, or write a file/,
  },
];

for (const { name, memory, change, is } of CHANGES) {
  Deno.test(`remember ${name}`, () => {
    const changed = changeMemory(memory ?? TEA, change);
    if (is instanceof RegExp) assert.match(changed.ok ? "" : changed.error, is);
    else assert.equal(changed.ok ? changed.value.text : changed.error, is);
  });
}

Deno.test("a memory that grows for ever is refused, can be shortened, and grows again", () => {
  let memory = "";
  let refused = "";
  for (let at = 0; refused === ""; at++) {
    const changed = changeMemory(memory, { text: `${at} ${"x".repeat(400)}` });
    if (changed.ok) memory = changed.value.text;
    else refused = changed.error;
  }
  assert.ok(byteLength(memory) <= MEMORY_BYTES_MAX);
  assert.match(
    refused,
    /must have at most 16384. Make room first: forget .* longest are:\n- \d+ x/,
  );
  const shorter = changeMemory(memory, { replaces: "- 3 x" });
  assert.ok(shorter.ok);
  assert.ok(changeMemory(shorter.value.text, { text: "y".repeat(400) }).ok);
});

Deno.test("a memory that a person made too long can be shortened in steps", () => {
  const long = Array.from({ length: 100 }, (_, at) => `- ${at} ${"x".repeat(400)}\n`).join("");
  assert.ok(!changeMemory(long, { text: "more" }).ok);
  assert.ok(!changeMemory(long, { text: "x".repeat(450), replaces: "- 7 x" }).ok);
  assert.ok(changeMemory(long, { replaces: "- 7 x" }).ok);
  assert.ok(changeMemory(long, { text: "seven", replaces: "- 7 x" }).ok);
});

Deno.test("conversations that remember at the same time lose no entry", async () => {
  const home = await Deno.makeTempDir({ prefix: "fleetctl-memory-" });
  try {
    // Each adapter has its own queue, as each process does.
    const tools = Array.from({ length: 4 }, () => rememberTool(home, denoFiles()));
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, (_, at) => tools[at % 4]?.run({ text: `fact ${at}.` }, SIGNAL)),
    );
    assert.deepEqual([...new Set(outcomes.map((outcome) => outcome?.status))], ["completed"]);
    const lines = (await Deno.readTextFile(memoryPath(home))).trim().split("\n").sort();
    assert.deepEqual(lines, Array.from({ length: 40 }, (_, at) => `- fact ${at}.`).sort());
    const { mode } = await Deno.stat(memoryPath(home));
    assert.equal((mode ?? 0) & 0o777, 0o600);
  } finally {
    await Deno.remove(home, { recursive: true });
  }
});

for (
  const { name, lay, says } of [
    {
      name: "a link out of the home",
      lay: (files: ReturnType<typeof memoryFiles>, path: string) =>
        files.symlink("/etc/fleetctl/host.yaml", path),
      says: /is a link that leads out of "\/home\/ada"$/,
    },
    {
      name: "binary content",
      lay: (files: ReturnType<typeof memoryFiles>, path: string) =>
        files.write(path, new Uint8Array([1, 0, 2])),
      says: /is not a text file$/,
    },
    {
      name: "invalid UTF-8",
      lay: (files: ReturnType<typeof memoryFiles>, path: string) =>
        files.write(path, new Uint8Array([0x61, 0xff])),
      says: /is not UTF-8 text, a person must correct it$/,
    },
    {
      name: "10 MB",
      lay: (files: ReturnType<typeof memoryFiles>, path: string) =>
        files.write(path, "x".repeat(10_000_000)),
      says: /has 10000000 bytes, a person must shorten it to 1048576$/,
    },
    {
      name: "a full disk",
      lay: async (files: ReturnType<typeof memoryFiles>, path: string) =>
        files.failUnder(path, "ENOSPC"),
      says: /ENOSPC/,
    },
  ]
) {
  Deno.test(`remember changes nothing: ${name}`, async () => {
    const files = memoryFiles({ "/etc/fleetctl/host.yaml": "webview_gateway: atlas\n" });
    const path = memoryPath("/home/ada");
    await files.ensureDir("/home/ada/.runtime-b/agent");
    await lay(files, path);
    const outcome = await rememberTool("/home/ada", files).run({ text: "fact" }, SIGNAL);
    assert.equal(outcome.status, "failed");
    assert.match(outcome.text, says);
    assert.equal(files.text("/etc/fleetctl/host.yaml"), "webview_gateway: atlas\n");
  });
}

Deno.test("remember keeps the owner's link and mode", async () => {
  const files = memoryFiles();
  await files.ensureDir("/home/ada/.runtime-b/agent");
  await files.write("/home/ada/notes.md", "- one\n", { mode: 0o640 });
  await files.symlink("/home/ada/notes.md", memoryPath("/home/ada"));
  const outcome = await rememberTool("/home/ada", files).run({ text: "two" }, SIGNAL);
  assert.deepEqual(outcome, {
    status: "completed",
    text: "[remembered; the memory has 12 of 16384 bytes]",
  });
  assert.equal(files.text("/home/ada/notes.md"), "- one\n- two\n");
  assert.equal((await files.stat("/home/ada/notes.md"))?.mode, 0o640);
  assert.equal((await files.stat(memoryPath("/home/ada")))?.kind, "symlink");
});
