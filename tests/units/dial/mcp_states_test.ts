/**
 * What a dial unit records about the MCPs of its runtime: the program's own report, and the
 * connections of the proxies.
 *
 * @module
 */

import assert from "node:assert/strict";
import { parseReportedMcps } from "core/dial/host_mcps.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { createMcpStates } from "units/dial/mcp_states.ts";

async function scene() {
  const { files, clock, log } = memoryHost({ now: 5_000 });
  await files.ensureDir("/d");
  const states = createMcpStates({ files, clock, log, folder: "/d" });
  const written = async () => {
    await states.settled();
    const found = parseReportedMcps(await files.readText("/d/mcps.json") ?? "");
    return found === undefined ? undefined : Object.fromEntries(found.states);
  };
  return { states, written, files };
}

Deno.test("createMcpStates() counts the connections of proxies", async () => {
  const { states, written, files } = await scene();
  assert.equal(await written(), undefined);
  const first = states.listed("git");
  const second = states.listed("git");
  assert.deepEqual(await written(), { git: "connected" });
  first();
  assert.deepEqual(await written(), { git: "connected" });
  second();
  assert.deepEqual(await written(), {});
  assert.equal((await files.stat("/d/mcps.json"))?.mode, 0o600);
  assert.equal(parseReportedMcps(await files.readText("/d/mcps.json") ?? "")?.startedMs, 5_000);
});

Deno.test("createMcpStates() trusts the program's report more than a connection", async () => {
  const { states, written } = await scene();
  states.listed("git");
  states.listed("pages");
  states.report([{ name: "git", state: "failed" }, { name: "maps", state: "pending" }]);
  assert.deepEqual(await written(), { git: "failed", pages: "connected", maps: "pending" });
  states.report([{ name: "git", state: "connected" }]);
  assert.deepEqual(await written(), { git: "connected", pages: "connected" });
  states.forget();
  assert.deepEqual(await written(), { git: "connected", pages: "connected" });
});

Deno.test("createMcpStates() keeps a sleeping program's MCPs until it starts again", async () => {
  const { states, written } = await scene();
  const end = states.listed("git");
  states.report([{ name: "maps", state: "needs-auth" }]);
  states.hold();
  end();
  assert.deepEqual(await written(), { git: "connected", maps: "needs-auth" });
  states.forget();
  assert.deepEqual(await written(), {});
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
