/**
 * Checks that the dependencies of an in-memory host work together like those of a real machine.
 *
 * @module
 */

import assert from "node:assert/strict";
import { memoryHost } from "tests/fakes/host.ts";

Deno.test("memoryHost() answers HTTP through a function and records the requests", async () => {
  const host = memoryHost({ http: async (request) => new Response(await request.text()) });
  const response = await host.http.fetch("http://a/b", { method: "POST", body: "echo" });
  assert.equal(await response.text(), "echo");
  assert.equal(host.http.requests[0]?.url, "http://a/b");
  assert.equal((await memoryHost().http.fetch("http://a/")).status, 404);
});

Deno.test("memoryHost() keeps log lines with the fields of with()", async () => {
  const { log } = memoryHost();
  const waited = log.next("ready");
  log.with({ agent: "ada" }).info("ready", { port: 1 });
  assert.deepEqual(await waited, {
    level: "info",
    event: "ready",
    fields: { agent: "ada", port: 1 },
  });
  assert.equal((await log.next("ready")).level, "info");
  assert.equal(log.of("other").length, 0);
});

Deno.test("memoryHost() stamps files with the time of its clock", async () => {
  const host = memoryHost({ now: Date.UTC(2026, 5, 1) });
  await host.clock.advance(1_500);
  await host.files.ensureDir("/d");
  await host.files.write("/d/a", "");
  assert.equal((await host.files.stat("/d/a"))?.mtimeMs, Date.UTC(2026, 5, 1) + 1_500);
});

Deno.test("memoryHost() knows the accounts given, and root", async () => {
  const ada = { name: "ada", uid: 1001, gid: 1001, home: "/home/ada" };
  const { users } = memoryHost({
    users: { currentUid: 1001, users: [ada], groups: { agents: 900 } },
  });
  assert.equal(users.currentUid(), 1001);
  assert.deepEqual(await users.byName("ada"), ada);
  assert.deepEqual((await users.byUid(0))?.name, "root");
  assert.equal(await users.groupId("agents"), 900);
  assert.equal(await users.groupId("ada"), 1001);
  assert.equal(await users.byName("bea"), undefined);
});

Deno.test("memoryHost() finds the programs given by name", async () => {
  const { processes } = memoryHost({ programs: { "/usr/bin/git": () => 0, age: () => 0 } });
  assert.equal(await processes.which("hg", "git"), "/usr/bin/git");
  assert.equal(await processes.which("age"), "/usr/bin/age");
  assert.equal(await processes.which("hg"), undefined);
});
