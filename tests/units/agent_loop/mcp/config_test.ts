/**
 * Client configs in both shapes, and the faults of an entry.
 *
 * @module
 */

import assert from "node:assert/strict";
import { parseClientConfig } from "units/agent_loop/mcp/config.ts";

const ENV = { TOKEN: "value-1", HOST: "mcp.example" };

function parse(config: unknown) {
  const parsed = parseClientConfig(JSON.stringify(config), ENV, "/home/ada");
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.value;
}

Deno.test("parseClientConfig() reads runtime-b's servers and the project's of runtime-a", () => {
  const git = { command: "/lib/fleetctl-mcp", args: ["proxy", "git"] };
  const b = parse({ mcpServers: { git } });
  const a = parse({
    projects: { "/home/ada": { mcpServers: { git } }, "/other": { mcpServers: { x: git } } },
  });
  for (const { servers } of [a, b]) {
    assert.deepEqual(servers.map((server) => server.name), ["git"]);
    const [server] = servers;
    assert.ok(server?.kind === "stdio");
    assert.deepEqual([server.command, server.args], ["/lib/fleetctl-mcp", ["proxy", "git"]]);
  }
});

Deno.test("parseClientConfig() fills references in from the environment", () => {
  const { servers } = parse({
    mcpServers: {
      one: { command: "/bin/x", args: ["--host=${HOST}"], env: { KEY: "${TOKEN}" } },
      two: {
        type: "http",
        url: "https://${HOST}/mcp",
        headers: { authorization: "Bearer ${TOKEN}" },
      },
    },
  });
  const [one, two] = servers;
  assert.ok(one?.kind === "stdio" && two?.kind === "http");
  assert.deepEqual([one.args, one.env], [["--host=mcp.example"], { KEY: "value-1" }]);
  assert.equal(two.url.href, "https://mcp.example/mcp");
  assert.deepEqual(two.headers, { authorization: "Bearer value-1" });
});

Deno.test("parseClientConfig() names what is wrong with an entry and keeps the others", () => {
  const { servers, faults } = parse({
    mcpServers: {
      good: { command: "/bin/x" },
      needy: { command: "/bin/x", env: { A: "${NOT_SET}", B: "${NOT_THERE}" } },
      empty: {},
      "bad name": { command: "/bin/x" },
      off: { command: "/bin/x", disabled: true },
      odd: { type: "http", url: "file:///etc/passwd" },
      proto: { command: "/bin/x", env: { A: "${constructor}" } },
    },
  });
  assert.deepEqual(servers.map((server) => server.name), ["good"]);
  const reasons = Object.fromEntries(faults.map((fault) => [fault.name, fault.reason]));
  assert.equal(reasons.needy, "it needs NOT_SET, NOT_THERE, which is not set");
  assert.match(reasons.empty ?? "", /its entry is unusable: command/);
  assert.match(reasons["bad name"] ?? "", /its name/);
  assert.match(reasons.off ?? "", /disabled/);
  assert.match(reasons.odd ?? "", /not an http or https URL/);
  assert.match(reasons.proto ?? "", /it needs constructor/);
});

Deno.test("parseClientConfig() hides tools whose exposure is hidden", () => {
  const { servers } = parse({
    mcpServers: {
      some: { command: "/bin/x", exposure: "codemode", toolExposure: { secret: "hidden" } },
      none: { command: "/bin/x", exposure: "hidden", toolExposure: { shown: "direct" } },
    },
  });
  const [some, none] = servers;
  assert.deepEqual([some?.isHidden("secret"), some?.isHidden("other")], [true, false]);
  assert.deepEqual([none?.isHidden("shown"), none?.isHidden("other")], [false, true]);
});

Deno.test("parseClientConfig() refuses what is no JSON object", () => {
  for (const text of ["", "{", "[]", "1"]) {
    assert.equal(parseClientConfig(text, {}, "/").ok, false, text);
  }
});
