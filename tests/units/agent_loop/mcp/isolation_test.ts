/**
 * One broken, slow or sleeping MCP never hides or delays another: the pool of servers and the
 * cached tool lists.
 *
 * @module
 */

import assert from "node:assert/strict";
import { pathsUnder } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { memoryHost } from "tests/fakes/host.ts";
import type { ServerConfig, ServerFault } from "units/agent_loop/mcp/config.ts";
import { mcpPool } from "units/agent_loop/mcp/pool.ts";
import { type McpServer, unavailable } from "units/agent_loop/mcp/server.ts";
import { type ServerTool, toolsCache } from "units/agent_loop/mcp/tools_cache.ts";

const LOOK: ServerTool = {
  name: "look",
  description: "Looks",
  isReadOnly: true,
  inputSchema: { type: "object" },
};

/** A server whose start the test controls. */
function server(name: string, of: { readonly recalls?: boolean } = {}) {
  const start = Promise.withResolvers<Result<readonly ServerTool[], string>>();
  let known: readonly ServerTool[] = [];
  let opened = 0;
  const made: McpServer = {
    name,
    tools: () => known,
    recall: () => {
      if (of.recalls === true) known = [LOOK];
      return Promise.resolve(of.recalls === true);
    },
    open: async () => {
      opened++;
      const result = await start.promise;
      if (result.ok) known = result.value;
      return result;
    },
    call: () => Promise.resolve({ status: "completed", text: "" }),
    close: () => Promise.resolve(),
  };
  return { server: made, start, opens: () => opened };
}

function pool(servers: readonly McpServer[], faults: readonly ServerFault[] = []) {
  const clock = fakeClock();
  const reported: string[] = [];
  const made = mcpPool(servers, faults, clock);
  const prepare = () =>
    made.prepare(new AbortController().signal, ({ name, reason }) => {
      reported.push(`${name}: ${reason}`);
    });
  return { clock, reported, pool: made, prepare };
}

Deno.test("a broken MCP is reported at once, while one hangs and a third one works", async () => {
  const [fine, broken, hanging] = [server("fine"), server("broken"), server("hanging")];
  const { clock, reported, pool: made, prepare } = pool(
    [hanging.server, broken.server, fine.server],
    [{ name: "wrong", reason: "its entry is unusable" }],
  );
  const ready = prepare();
  // All servers start in parallel, before any has answered.
  await clock.advance(0);
  assert.deepEqual([fine, broken, hanging].map(({ opens }) => opens()), [1, 1, 1]);
  fine.start.resolve(ok([LOOK]));
  broken.start.resolve(err("it ended with exit code 3"));
  await clock.advance(0);
  assert.deepEqual(reported, ["wrong: its entry is unusable", "broken: it ended with exit code 3"]);
  assert.deepEqual(made.tools().map(({ mcp, tool }) => `${mcp} ${tool}`), ["fine look"]);
  // The hanging server delays the first turn once, and only briefly.
  await clock.advance(15_000);
  await ready;
  assert.equal(reported.at(-1), "hanging: it is still starting");
  const again = prepare();
  await again;
  assert.equal(reported.length, 3, "each reason is told once");
  // A late server still adds its tools, from the next step on.
  hanging.start.resolve(ok([{ ...LOOK, name: "late" }]));
  await clock.advance(0);
  assert.deepEqual(made.tools().map(({ tool }) => tool), ["late", "look"]);
});

Deno.test("22 idle MCPs with known tools are declared, and none is started", async () => {
  const servers = Array.from({ length: 22 }, (_, at) => server(`mcp-${at}`, { recalls: true }));
  const { reported, pool: made, prepare } = pool(servers.map((each) => each.server));
  await prepare();
  assert.equal(made.tools().length, 22);
  assert.deepEqual(servers.filter(({ opens }) => opens() > 0), []);
  assert.deepEqual(reported, []);
});

Deno.test("a failure names the command to run", () => {
  assert.equal(
    unavailable("git", "its login has expired"),
    'MCP "git" is not available: its login has expired (try: fleetctl mcp doctor git self)',
  );
  assert.match(unavailable("git", "it ended", "ada"), /\(try: fleetctl mcp doctor git ada\)$/);
  assert.doesNotMatch(unavailable("*", "the file is unusable"), /doctor/);
});

const CONFIG: ServerConfig = {
  name: "git",
  kind: "stdio",
  command: "/usr/lib/fleetctl/fleetctl-mcp",
  cwd: undefined,
  args: ["proxy", "git"],
  env: { KEY: "secret" },
  isHidden: () => false,
};
const GATE = '{"mcp":"git","version":"1","rules":{}}';

function caches(gate = GATE) {
  const paths = pathsUnder("/");
  const host = memoryHost({ files: { [paths.gate("git")]: gate } });
  const site = { ...host, folder: "/home/ada/.runtime-b/agent/tools", gate: paths.gate };
  return { host, paths, open: (config: ServerConfig = CONFIG) => toolsCache(config, site) };
}

Deno.test("toolsCache() returns the previous list, and holds no secret", async () => {
  const { host, open } = caches();
  assert.equal(await open().load(), undefined);
  await open().save([LOOK]);
  assert.deepEqual(await open().load(), [LOOK]);
  const path = "/home/ada/.runtime-b/agent/tools/git.json";
  assert.doesNotMatch((await host.files.readText(path)) ?? "", /secret/);
  assert.equal((await host.files.stat(path))?.mode, 0o600);
});

Deno.test("toolsCache() drops a list that is old, or of another version or command", async () => {
  const { host, paths, open } = caches();
  const write = (text: string) => host.files.write(paths.gate("git"), text, { mode: 0o644 });
  await open().save([LOOK]);
  await write(GATE.replace('"1"', '"2"'));
  assert.equal(await open().load(), undefined, "another version");
  await write('{"mcp":"git","version":"1","rules":{"look":"block"}}');
  assert.equal(await open().load(), undefined, "another rule");
  await write(GATE);
  assert.deepEqual(await open().load(), [LOOK]);
  assert.equal(await open({ ...CONFIG, args: ["other"] } as ServerConfig).load(), undefined);
  await host.clock.advance(24 * 3600 * 1000);
  assert.equal(await open().load(), undefined, "a day later");
  await host.files.write("/home/ada/.runtime-b/agent/tools/git.json", "garbage", { mode: 0o600 });
  assert.equal(await open().load(), undefined, "garbage");
});
