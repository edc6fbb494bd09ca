/**
 * Warnings about the program of an agent's runtime, by the state of its file and by memory.
 *
 * @module
 */

import assert from "node:assert/strict";
import { programWarnings } from "cli/agents/program_warnings.ts";
import { defined } from "core/defined.ts";
import { type AgentLimits, defaultLimits } from "core/limits/agent.ts";
import type { AgentName } from "core/names.ts";
import { pathsUnder } from "core/paths.ts";
import { shippedDefinitions } from "core/runtimes/definitions.ts";
import { type MemoryFiles, memoryFiles } from "tests/fakes/files.ts";

const paths = pathsUnder("/");
const PROGRAM = "/usr/local/bin/opencode";
const NAME = "ada" as AgentName;
const runtimes = shippedDefinitions();
const GIB = 1024 ** 3;

async function warned(
  files: MemoryFiles,
  { runtime = "opencode", limits, command }: {
    readonly runtime?: string;
    readonly limits?: AgentLimits;
    readonly command?: string;
  } = {},
) {
  const definition = runtimes.get(runtime);
  assert.ok(definition !== undefined);
  const changed = command === undefined ? definition : { ...definition, command };
  const facts = {
    paths,
    runtimes: new Map([[runtime, changed]]),
    limits: defaultLimits({ memoryBytes: 8 * GIB, agents: 1 }),
  };
  const agent = { name: NAME, runtime, ...defined({ limits }) };
  return await programWarnings(files, facts, agent);
}

const FILES: readonly (readonly [string, (files: MemoryFiles) => Promise<void>, RegExp | null])[] =
  [
    ["is missing", async () => {}, /"\/usr\/local\/bin\/opencode" does not exist, must be/],
    ["is a folder", (files) => files.ensureDir(PROGRAM), /is not a file, must be/],
    [
      "is not executable",
      (files) => files.write(PROGRAM, "", { mode: 0o644 }),
      /is not executable/,
    ],
    ["is executable", (files) => files.write(PROGRAM, "", { mode: 0o755 }), null],
    ["is a link to a program", async (files) => {
      await files.ensureDir("/opt");
      await files.write("/opt/x", "", { mode: 0o755 });
      await files.symlink("/opt/x", PROGRAM);
    }, null],
    [
      "is a link to nothing",
      (files) => files.symlink("/opt/x", PROGRAM),
      /link to "\/opt\/x", which/,
    ],
    ["is a link to itself", (files) => files.symlink(PROGRAM, PROGRAM), /has more than 16 links/],
    ["is a link into the home", (files) => files.symlink("/home/ada/x", PROGRAM), null],
  ];
for (const [state, prepare, wanted] of FILES) {
  const effect = wanted === null ? "is right" : "causes a warning";
  Deno.test(`a program that ${state} ${effect}`, async () => {
    const files = memoryFiles();
    await files.ensureDir("/usr/local/bin");
    await prepare(files);
    const found = await warned(files);
    assert.equal(found.length, wanted === null ? 0 : 1);
    if (wanted === null) return;
    assert.equal(found[0]?.code, "runtime-not-installed");
    assert.match(found[0]?.message ?? "", wanted);
    assert.deepEqual(found[0]?.hints, [
      runtimes.get("opencode")?.install,
      "fleetctl secret set OPENAI_API_KEY --agent ada",
    ]);
  });
}

Deno.test("a program in the agent's home, and the built-in one, are not checked", async () => {
  assert.deepEqual(await warned(memoryFiles(), { command: "{home}/bin/opencode" }), []);
  assert.deepEqual(await warned(memoryFiles(), { runtime: "runtime-b" }), []);
});

Deno.test("an agent with less memory than its program needs causes a warning", async () => {
  const files = memoryFiles();
  await files.ensureDir("/usr/local/bin");
  await files.write(PROGRAM, "", { mode: 0o755 });
  const [warning] = await warned(files, { limits: { memoryMaxBytes: 799 * 1024 ** 2 } });
  assert.equal(warning?.code, "runtime-memory-low");
  assert.match(warning?.message ?? "", /"ada" may use 799M of memory, .*"opencode" needs .* 800M/);
  assert.deepEqual(warning?.hints, ["fleetctl agents set ada --memory-max 800M"]);
  assert.deepEqual(await warned(files, { limits: { memoryMaxBytes: 800 * 1024 ** 2 } }), []);
});
