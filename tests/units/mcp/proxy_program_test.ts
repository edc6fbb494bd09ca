/**
 * The proxy as a real program: it records a call before it forwards it, and it ends with its client
 * whatever is pending.
 *
 * @module
 */

import assert from "node:assert/strict";
import { TREE } from "tests/support/module_graph.ts";

interface Running {
  readonly root: string;
  readonly child: Deno.ChildProcess;
  readonly listener: Deno.UnixListener;
  readonly input: WritableStreamDefaultWriter<Uint8Array>;
  close(): Promise<void>;
}

async function startProxy(): Promise<Running> {
  const root = await Deno.makeTempDir({ prefix: "fc-" });
  await Deno.mkdir(`${root}/etc/fleetctl/gate`, { recursive: true });
  await Deno.writeTextFile(
    `${root}/etc/fleetctl/gate/bench.json`,
    JSON.stringify({ mcp: "bench", version: "1.0.0", rules: {}, idle_stop_seconds: 900 }),
  );
  const listener = Deno.listen({ transport: "unix", path: `${root}/s` });
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "-A", "--no-check", `${TREE}units/mcp/main.ts`, "proxy", "bench"]
      .concat("--socket", `${root}/s`),
    env: { FLEETCTL_ROOT: root, FLEETCTL_AGENT: "ada", HOME: root },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  return {
    root,
    child,
    listener,
    input: child.stdin.getWriter(),
    async close() {
      listener.close();
      await Deno.remove(root, { recursive: true });
    },
  };
}

const CALL = JSON.stringify({
  jsonrpc: "2.0",
  id: 7,
  method: "tools/call",
  params: {
    name: "look",
    arguments: { path: "/secret-value", depth: 1 },
    _meta: {
      fleetctl: {
        origin: { kind: "relayed", verb: "mcp call", by: "the operator", root: true },
      },
    },
  },
});

Deno.test("a call is logged before the server gets it, without its values", async () => {
  const proxy = await startProxy();
  await proxy.input.write(new TextEncoder().encode(`${CALL}\n`));
  const connection = await proxy.listener.accept();
  const buffer = new Uint8Array(4096);
  const count = await connection.read(buffer) ?? 0;
  // The server has the call now, so the record is on disk whatever happens to the proxy.
  proxy.child.kill("SIGKILL");
  assert.equal(new TextDecoder().decode(buffer.subarray(0, count)).trim(), CALL);
  const output = new TextDecoder().decode(await new Response(proxy.child.stderr).bytes());
  const line = output.split("\n").map((text) => text === "" ? {} : JSON.parse(text))
    .find(({ event }) => event === "call");
  assert.deepEqual(
    [line.mcp, line.tool, line.arguments, line.origin],
    ["bench", "look", "path,depth", "mcp call by the operator"],
  );
  assert.ok(!output.includes("secret-value"), output);
  await proxy.child.stdout.cancel();
  await proxy.child.status;
  connection.close();
  await proxy.close();
});

Deno.test("the proxy ends with its client, while a call is open and while it is idle", async () => {
  for (const answers of [true, false]) {
    const proxy = await startProxy();
    await proxy.input.write(new TextEncoder().encode(`${CALL}\n`));
    const connection = await proxy.listener.accept();
    await connection.read(new Uint8Array(4096));
    if (answers) {
      const answer = '{"jsonrpc":"2.0","id":7,"result":{"content":[]}}\n';
      await connection.write(new TextEncoder().encode(answer));
      const reader = proxy.child.stdout.getReader();
      assert.equal(new TextDecoder().decode((await reader.read()).value), answer);
      reader.releaseLock();
    }
    await proxy.input.close();
    assert.equal((await proxy.child.status).code, 0);
    assert.equal(await connection.read(new Uint8Array(1)), null, "the server is let go");
    await Promise.all([proxy.child.stdout.cancel(), proxy.child.stderr.cancel()]);
    connection.close();
    await proxy.close();
  }
});

Deno.test("the proxy reports to the dial unit that its tools were listed", async () => {
  const proxy = await startProxy();
  await Deno.mkdir(`${proxy.root}/.fleetctl/dial`, { recursive: true });
  const dial = Deno.listen({
    transport: "unix",
    path: `${proxy.root}/.fleetctl/dial/local.sock`,
  });
  const send = (text: string) => proxy.input.write(new TextEncoder().encode(`${text}\n`));
  await send('{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
  const connection = await proxy.listener.accept();
  await connection.read(new Uint8Array(4096));
  await connection.write(
    new TextEncoder().encode('{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}\n'),
  );
  const dialPeer = await dial.accept();
  const buffer = new Uint8Array(4096);
  const count = await dialPeer.read(buffer) ?? 0;
  assert.deepEqual(JSON.parse(new TextDecoder().decode(buffer.subarray(0, count))), {
    type: "mcp_listed",
    mcp: "bench",
  });
  await proxy.input.close();
  assert.equal(await dialPeer.read(buffer), null, "the connection ends with the proxy");
  assert.equal((await proxy.child.status).code, 0);
  await Promise.all([proxy.child.stdout.cancel(), proxy.child.stderr.cancel()]);
  for (const open of [connection, dialPeer, dial]) open.close();
  await proxy.close();
});
