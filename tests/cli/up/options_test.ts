/**
 * Options of `up`: it reports every fault at once, and refuses `/` and a root whose path is too
 * long for sockets.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  absolutePath,
  checkRoot,
  parseUpOptions,
  PORT_BASE_DEFAULT,
  portsFrom,
} from "cli/up/options.ts";

Deno.test("parseUpOptions() uses the documented ports and the agent ada by default", () => {
  const parsed = parseUpOptions({});
  assert.ok(parsed.ok);
  assert.equal(parsed.value.portBase, PORT_BASE_DEFAULT);
  assert.deepEqual(portsFrom(parsed.value.portBase), {
    cockpit: 8731,
    dial: 8735,
    login: 8736,
    teamchat: 3978,
  });
  assert.equal(parsed.value.listen, "127.0.0.1");
  assert.equal(parsed.value.agent, "ada");
  assert.equal(parsed.value.workdir, undefined);
});

Deno.test("parseUpOptions() reports every fault at once", () => {
  const rows: readonly [Parameters<typeof parseUpOptions>[0], readonly string[]][] = [
    [{ "port-base": "80" }, ["--port-base"]],
    [{ "port-base": "9e9" }, ["--port-base"]],
    [{ "port-base": "70000" }, ["--port-base"]],
    [{ listen: "example.org" }, ["--listen"]],
    [{ turn: "  " }, ["--turn"]],
    [{ turn: "x".repeat(300_000) }, ["--turn"]],
    [{ agent: "Ada!", turn: "hi" }, ["--agent"]],
    [{ agent: "ada" }, ["--agent"]],
    [{ "model-from": "mistral" }, ["--model-from"]],
    [{ "model-from": "ftp://127.0.0.1/v1" }, ["--model-from"]],
    [{ model: "m" }, ["--model"]],
    [{ "model-from": "none", model: "m" }, ["--model"]],
    [{ "port-base": "x", listen: "y!", turn: "" }, ["--port-base", "--listen", "--turn"]],
  ];
  for (const [given, wanted] of rows) {
    const parsed = parseUpOptions(given);
    assert.ok(!parsed.ok, JSON.stringify(given).slice(0, 80));
    assert.equal(parsed.error.code, "options-invalid");
    assert.equal(parsed.error.kind, "usage");
    assert.deepEqual(parsed.error.details.map((line) => line.split(":")[0]), wanted);
  }
});

Deno.test("parseUpOptions() accepts 0 for free ports", () => {
  const parsed = parseUpOptions({ "port-base": "0" });
  assert.ok(parsed.ok);
  assert.equal(parsed.value.portBase, 0);
});

Deno.test("absolutePath() resolves against the working folder", () => {
  for (
    const [path, wanted] of [
      ["/a/b", "/a/b"],
      ["b", "/home/x/b"],
      ["../b/", "/home/b"],
      ["./././", "/home/x"],
      ["../../../..", "/"],
      ["/a//b/../c", "/a/c"],
    ] as const
  ) assert.equal(absolutePath(path, "/home/x"), wanted);
});

Deno.test("checkRoot() refuses the root of the machine and folders too long for sockets", () => {
  assert.ok(checkRoot("/home/x/.fleetctl").ok);
  const machine = checkRoot("/");
  assert.ok(!machine.ok);
  assert.equal(machine.error.code, "root-unusable");
  const long = checkRoot(`/${"x".repeat(100)}`);
  assert.ok(!long.ok);
  assert.equal(long.error.code, "root-too-long");
});
