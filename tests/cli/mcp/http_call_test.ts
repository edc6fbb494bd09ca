/**
 * `mcp call` and `mcp read` of an MCP by URL: real servers of both revisions, and servers that
 * answer badly. Admission, decision, keys and refusals are the same as for every other MCP.
 *
 * @module
 */

import assert from "node:assert/strict";
import { openHost } from "core/os/host.ts";
import { systemMcpClient } from "cli/os/mcp_client.ts";
import { type CatalogHost, catalogHost } from "tests/support/catalog_host.ts";
import {
  everythingServer,
  type HttpMcp,
  KEY,
  serveMcp,
  statelessServer,
} from "tests/support/http_mcp.ts";
import { TREE } from "tests/support/module_graph.ts";
import { importsOfTree } from "tests/support/tree_imports.ts";

const HEADER = "Authorization: Bearer {HUB_TOKEN}";

/** A host whose agent has the server as "hub". */
async function hubHost(server: { readonly url: string }, key = KEY): Promise<CatalogHost> {
  const host = await catalogHost([]);
  const must = async (...argv: readonly string[]) => {
    const ended = await host.run(...argv);
    assert.equal(ended.code, 0, `${argv.join(" ")}\n${ended.stdout}\n${ended.stderr}`);
  };
  const url = `${server.url}?key={HUB_TOKEN}`;
  const entry = ["--url", url, "--header", HEADER, "--env", "HUB_TOKEN", "--risk", "*=allow"];
  await must("mcp", "catalog", "add", "hub", ...entry);
  await must("secret", "set", "HUB_TOKEN", "--agent", "ada", "--value", key);
  await must("mcp", "add", "hub", "ada");
  return host;
}

/** Checks that no output for a person or a log contains the key. */
function tellsNothing(ended: { readonly stdout: string; readonly stderr: string }): void {
  for (const text of [KEY, encodeURIComponent(KEY)]) {
    assert.ok(!`${ended.stdout}${ended.stderr}`.includes(text), ended.stderr);
  }
}

for (
  const [name, open] of [
    ["the official server of 2025-11-25, with sessions", everythingServer],
    ["a server of 2026-07-28, without sessions", () => Promise.resolve(statelessServer())],
  ] as const
) {
  Deno.test(`mcp call and mcp read reach ${name}, with the agent's key`, async () => {
    await using server = await open();
    await using host = await hubHost(server);
    for (const verb of ["call", "read"]) {
      const answer = await host.run(
        "mcp",
        verb,
        "hub",
        "echo",
        "ada",
        "--args",
        '{"message":"hi"}',
      );
      assert.deepEqual([answer.code, answer.stdout], [0, "Echo: hi\n"], answer.stderr);
    }
    const unknown = await host.run("mcp", "call", "hub", "no-such-tool", "ada");
    assert.equal(unknown.code, 1, unknown.stdout);
    tellsNothing(unknown);
    const posts = server.seen.filter(({ rpc }) => rpc === "tools/call").length;
    assert.equal(posts, 3, "one request for each call");
    if (server.seen.some(({ rpc }) => rpc === "initialize")) {
      assert.ok(server.seen.some(({ method }) => method === "DELETE"), "a session is ended");
    }
  });
}

Deno.test("--answer answers the questions that a server asks during a call", async () => {
  await using server = await everythingServer();
  await using host = await hubHost(server);
  const call = ["mcp", "call", "hub", "trigger-elicitation-request", "ada"];
  const answered = await host.run(...call, "--answer", "name=Ada", "--answer", "check=yes");
  assert.equal(answered.code, 0, answered.stderr);
  assert.match(answered.stdout, /Ada/);
  assert.match(
    answered.stdout,
    /It was a dark and stormy night/,
    "a default stands for what is left out",
  );
  const unfit = await host.run(...call, "--answer", "integer=1000");
  assert.match(unfit.stdout, /cancel/i);
  // Without a terminal the server learns that it may not ask, so it does not offer the tool.
  const silent = await host.run(...call);
  assert.equal(silent.code, 1, silent.stdout);
});

Deno.test("the gate filters calls to a URL as it filters calls to a socket", async () => {
  await using server = statelessServer();
  await using host = await hubHost(server);
  const manifest = `${host.paths.overlayCatalog}/hub/mcp.yaml`;
  const text = await Deno.readTextFile(manifest);
  await Deno.writeTextFile(
    manifest,
    `${text}tools: { wipe: { risk: block }, pay: { risk: ask } }\n`,
  );
  assert.equal((await host.run("apply")).code, 0);
  const before = server.seen.length;
  for (
    const [argv, code] of [
      [["call", "hub", "wipe", "ada"], "tool-blocked"],
      [["read", "hub", "WIPE", "ada"], "tool-blocked"],
      [["call", "hub", "pay", "ada"], "approval-unavailable"],
      [["call", "hub", "echo", "ada", "--args", '{"output_path":"/x"}'], "argument-refused"],
    ] as const
  ) {
    const ended = await host.run("mcp", ...argv, "--json");
    assert.deepEqual([ended.code, JSON.parse(ended.stdout).error.code], [4, code], ended.stdout);
  }
  assert.equal(server.seen.length, before, "nothing was sent");
});

Deno.test(
  "an admin reads read-only tools as another agent; an agent without the MCP is refused",
  async () => {
    await using server = statelessServer();
    await using host = await hubHost(server);
    await Deno.writeTextFile(
      `${host.paths.agentsDir}/chief.yaml`,
      "name: chief\nchannel: webview\nruntime: runtime-b\nadmin: true\n" +
        "tools: { remove: [browser] }\n",
    );
    const args = ["--args", '{"message":"hi"}', "--json"];
    const refused = await host.run("--as", "chief", "mcp", "read", "hub", "echo", "ada", ...args);
    assert.equal(JSON.parse(refused.stdout).error.code, "tool-not-read-only");
    const foreign = await host.run("mcp", "call", "hub", "echo", "chief", ...args);
    assert.equal(JSON.parse(foreign.stdout).error.code, "mcp-not-wired");
    const manifest = `${host.paths.overlayCatalog}/hub/mcp.yaml`;
    const text = await Deno.readTextFile(manifest);
    await Deno.writeTextFile(manifest, `${text}tools: { echo: { read_only: true } }\n`);
    assert.equal((await host.run("apply")).code, 0);
    const read = await host.run("--as", "chief", "mcp", "read", "hub", "echo", "ada", ...args);
    assert.equal(read.code, 0, read.stdout);
  },
);

/** Answers the handshake correctly, and a call as the test specifies. */
function badServer(
  answer: (id: unknown, request: Request) => Response | Promise<Response>,
): HttpMcp {
  return serveMcp(async (request) => {
    if (request.method !== "POST") return new Response(null, { status: 405 });
    const { id, method } = await request.clone().json();
    if (id === undefined) return new Response(null, { status: 202 });
    if (method === "tools/call") return await answer(id, request);
    if (method !== "initialize") {
      const error = { code: -32601, message: "Method not found" };
      return Response.json({ jsonrpc: "2.0", id, error });
    }
    const result = {
      protocolVersion: "2025-11-25",
      capabilities: { tools: {} },
      serverInfo: { name: "bad", version: "1" },
    };
    return Response.json({ jsonrpc: "2.0", id, result });
  });
}

const endless = (first: string, then: string, type: string) =>
  new Response(
    new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode(first)),
      pull: (controller) => controller.enqueue(new TextEncoder().encode(then)),
    }),
    { headers: { "content-type": type } },
  );

Deno.test("a server's bad answer fails one call, with a reason that omits the key", async (t) => {
  const elsewhere = serveMcp(() => new Response("reached", { status: 200 }));
  const rows: readonly (readonly [string, Parameters<typeof badServer>[0], RegExp])[] = [
    [
      "a redirect to another host",
      (_, request) =>
        new Response(null, {
          status: 307,
          headers: { location: `${elsewhere.url}${new URL(request.url).search}` },
        }),
      /it answered with a redirect, which is not followed/,
    ],
    [
      "a redirect on the same host",
      () => new Response(null, { status: 308, headers: { location: "/other" } }),
      /redirect, which is not followed/,
    ],
    [
      "an error that repeats the key",
      () => new Response(`bad key ${KEY} ${encodeURIComponent(KEY)}`, { status: 500 }),
      /status 500: .*bad key … …/,
    ],
    ["a refused login", () => new Response(null, { status: 403 }), /refused the sign-in .* 403/],
    [
      "no JSON",
      () => new Response("<html>", { headers: { "content-type": "text/html" } }),
      /content type/,
    ],
    [
      "JSON that is not a message",
      () => Response.json({ hello: KEY }),
      /Cannot finish the call of MCP "hub"/,
    ],
    [
      "an endless body",
      () => endless('{"x":"', "x".repeat(1 << 20), "application/json"),
      /more than 16777216 bytes|Cannot finish/,
    ],
    [
      "an endless event",
      () => endless("data: {", "x".repeat(1 << 20), "text/event-stream"),
      /its answer ended before it was complete|more than 16777216 bytes/,
    ],
    [
      "a stream that ends without an answer",
      () => new Response(": nothing\n\n", { headers: { "content-type": "text/event-stream" } }),
      /its answer ended before it was complete/,
    ],
    [
      "an answer to another request",
      () => Response.json({ jsonrpc: "2.0", id: 4711, result: { content: [] } }),
      /no answer in time/,
    ],
  ];
  for (const [name, answer, want] of rows) {
    await t.step(name, async () => {
      // Only the missing answer needs the timeout; the other cases fail immediately.
      const seconds = want.source === "no answer in time" ? "3" : "200";
      await using server = badServer(answer);
      await using host = await hubHost(server);
      const ended = await host.run("mcp", "call", "hub", "echo", "ada", "--timeout", seconds);
      assert.equal(ended.code, 1, `${ended.stdout}${ended.stderr}`);
      assert.match(ended.stderr, want);
      tellsNothing(ended);
    });
  }
  assert.deepEqual(elsewhere.seen, [], "no request was sent elsewhere");
  await elsewhere[Symbol.asyncDispose]();
});

Deno.test("a wrong key, an invalid header value and an absent server are reported", async () => {
  await using server = statelessServer();
  const call = ["mcp", "call", "hub", "echo", "ada", "--args", '{"message":"hi"}'];
  {
    await using host = await hubHost(server, "another");
    const ended = await host.run(...call);
    assert.match(ended.stderr, /refused the sign-in with status 401/);
    tellsNothing(ended);
  }
  {
    await using host = await hubHost(server, "ключ");
    assert.match((await host.run(...call)).stderr, /characters that a header must not contain/);
  }
  {
    const { url } = server;
    await using host = await hubHost({ url: url.replace(/:\d+/, ":1") });
    const ended = await host.run(...call);
    assert.equal(ended.code, 1);
    assert.match(ended.stderr, /Cannot (reach|finish)/);
    tellsNothing(ended);
  }
});

Deno.test("an agent's proxy reaches only the URL that its permission set names", async () => {
  await using server = statelessServer();
  await using host = await hubHost(server);
  const rendered = await Deno.readTextFile(host.paths.agentPermissions("ada"));
  const { mcp } = JSON.parse(rendered).permissions;
  // The program of this tree with the permission set as rendered.
  const imports = importsOfTree();
  const config = `${host.root}/deno.json`;
  // Without the lock, Deno would query the registry for versions.
  await Deno.copyFile(`${TREE}deno.lock`, `${host.root}/deno.lock`);
  const file = { nodeModulesDir: "none", imports, permissions: { mcp } };
  await Deno.writeTextFile(config, JSON.stringify(file));
  assert.ok(mcp.net.includes(`127.0.0.1:${server.port}`), JSON.stringify(mcp));
  assert.deepEqual(mcp.read.filter((path: string) => path.includes("/env/")), [
    host.paths.sharedEnv,
    host.paths.agentEnv("ada"),
  ]);
  const client = systemMcpClient(openHost({ log: { program: "test", level: "error" } }));
  const proxy = (env: Readonly<Record<string, string>> = {}) => ({
    command: Deno.execPath(),
    args: [
      "run",
      "-q",
      "--no-prompt",
      "--cached-only",
      "--config",
      config,
      "-P=mcp",
      `${TREE}units/mcp/main.ts`,
    ]
      .concat("proxy", "hub", "--url"),
    env: {
      FLEETCTL_ROOT: host.root,
      FLEETCTL_AGENT: "ada",
      HOME: host.root,
      DENO_DIR: Deno.env.get("DENO_DIR") ?? `${TREE}.cache/deno`,
      ...env,
    },
  });
  const call = { tool: "echo", arguments: { message: "hi" }, timeoutMs: 20_000 };
  const answer = await client.callTool("hub", proxy(), call);
  assert.ok(answer.ok, JSON.stringify(answer));
  assert.equal(answer.value.text, "Echo: hi");
  // This program may not read the keys of another agent.
  const foreign = await client.callTool("hub", proxy({ FLEETCTL_AGENT: "bea" }), call);
  assert.ok(!foreign.ok && /keys of agent "bea" cannot be read/.test(foreign.error.message));
  const gate = host.paths.gate("hub");
  const rules = await Deno.readTextFile(gate);
  await Deno.writeTextFile(gate, rules.replace(`127.0.0.1:${server.port}`, "127.0.0.1:9"));
  const elsewhere = await client.callTool("hub", proxy(), call);
  assert.ok(!elsewhere.ok && /127.0.0.1:9: /.test(elsewhere.error.message), `${elsewhere}`);
});

Deno.test("mcp doctor lists the tools of a URL, and says how to replace a wrong key", async () => {
  await using server = await everythingServer();
  {
    await using host = await hubHost(server);
    const ended = await host.run("mcp", "doctor", "hub", "ada");
    assert.match(ended.stdout, /handshake +ok +127\.0\.0\.1:\d+ answered/);
    assert.match(ended.stdout, /tools +ok +\d+ \(echo, /);
    tellsNothing(ended);
  }
  await using host = await hubHost(server, "another");
  const ended = await host.run("mcp", "doctor", "hub", "ada");
  assert.match(`${ended.stdout}${ended.stderr}`, /answered with status 401/);
  assert.match(`${ended.stdout}${ended.stderr}`, /fleetctl secret set HUB_TOKEN/);
});
