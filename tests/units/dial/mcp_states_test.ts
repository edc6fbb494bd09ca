/**
 * What a dial unit records about the MCPs of its runtime: the program's own report, and the
 * connections of the proxies.
 *
 * @module
 */

import assert from "node:assert/strict";
import { parseReportedMcps } from "core/dial/host_mcps.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { createMcpBoard } from "units/dial/mcp_states.ts";

async function scene() {
  const { files, clock, log } = memoryHost({ now: 5_000 });
  await files.ensureDir("/d");
  const board = createMcpBoard({ files, clock, log, folder: "/d" });
  const told = async () => {
    await board.settled();
    const found = parseReportedMcps(await files.readText("/d/mcps.json") ?? "");
    return found === undefined ? undefined : Object.fromEntries(found.states);
  };
  return { board, told, files };
}

Deno.test("createMcpBoard() counts the connections of proxies", async () => {
  const { board, told, files } = await scene();
  assert.equal(await told(), undefined);
  const first = board.listed("git");
  const second = board.listed("git");
  assert.deepEqual(await told(), { git: "connected" });
  first();
  assert.deepEqual(await told(), { git: "connected" });
  second();
  assert.deepEqual(await told(), {});
  assert.equal((await files.stat("/d/mcps.json"))?.mode, 0o600);
  assert.equal(parseReportedMcps(await files.readText("/d/mcps.json") ?? "")?.startedMs, 5_000);
});

Deno.test("createMcpBoard() trusts the program's report more than a connection", async () => {
  const { board, told } = await scene();
  board.listed("git");
  board.listed("pages");
  board.report([{ name: "git", state: "failed" }, { name: "maps", state: "pending" }]);
  assert.deepEqual(await told(), { git: "failed", pages: "connected", maps: "pending" });
  board.report([{ name: "git", state: "connected" }]);
  assert.deepEqual(await told(), { git: "connected", pages: "connected" });
  board.forget();
  assert.deepEqual(await told(), { git: "connected", pages: "connected" });
});

Deno.test("createMcpBoard() keeps what a sleeping program had until it starts again", async () => {
  const { board, told } = await scene();
  const end = board.listed("git");
  board.report([{ name: "maps", state: "needs-auth" }]);
  board.hold();
  end();
  assert.deepEqual(await told(), { git: "connected", maps: "needs-auth" });
  board.forget();
  assert.deepEqual(await told(), {});
});

for (
  const text of [
    "",
    "[]",
    '{"started":1}',
    '{"started":"1","mcps":{}}',
    '{"started":1,"mcps":{"a":1}}',
  ]
) {
  Deno.test(`parseReportedMcps() returns undefined for ${text || "nothing"}`, () => {
    assert.equal(parseReportedMcps(text), undefined);
  });
}
