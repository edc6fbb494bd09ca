/**
 * Which programs are compiled, and how the runtime stub is found without a download.
 *
 * @module
 */

import assert from "node:assert/strict";
import { memoryFiles } from "tests/fakes/files.ts";
import { findStub, whyBundled } from "units/package/compile.ts";
import { PROGRAMS } from "units/render/launchers.ts";

const TARGET = "x86_64-unknown-linux-gnu";
const CACHED = `/cache/dl/release/v2.9.6/denort-${TARGET}.zip`;

Deno.test("whyBundled() lets programs of one permission set be compiled with a stub", () => {
  const compiled = PROGRAMS.filter((program) => whyBundled(program, "/stub") === undefined);
  assert.deepEqual(compiled.map(({ name }) => name), [
    "fleetctld",
    "fleetctl-gateway",
    "fleetctl-login",
    "fleetctl-teamchat",
    "fleetctl-teamchat-receiver",
  ]);
  for (const program of PROGRAMS) assert.ok(whyBundled(program, undefined) !== undefined);
});

const ROWS: readonly (readonly [string, Record<string, string>, string[], string | undefined])[] = [
  ["nothing", { DENO_DIR: "/cache" }, [], undefined],
  ["the named stub", { DENORT_BIN: "/stub", DENO_DIR: "/cache" }, ["/stub", CACHED], "/stub"],
  ["the cached stub", { DENO_DIR: "/cache" }, [CACHED], CACHED],
  [
    "the cached stub when the named one is absent",
    {
      DENORT_BIN: "/absent",
      DENO_DIR: "/cache",
    },
    [CACHED],
    CACHED,
  ],
];
for (const [name, env, present, wanted] of ROWS) {
  Deno.test(`findStub() finds ${name}`, async () => {
    const files = memoryFiles(Object.fromEntries(present.map((path) => [path, "stub"])));
    assert.equal(await findStub(files, { env, version: "2.9.6", target: TARGET }), wanted);
  });
}
