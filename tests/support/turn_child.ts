/**
 * One component of a turn of the built-in runtime as a separate process, so that a test can kill
 * it: `dial ROOT DIAL_URL MODEL_URL` and `server SOCKET LOG`. The gateway is that of
 * `tests/support/approval_child.ts`; runtime and MCP proxy are the product's own programs. Prints
 * `runtime <pid>` for each start of the runtime, and `ready`.
 *
 * @module
 */

import { openHost } from "core/os/host.ts";
import { pathsUnder } from "core/paths.ts";
import type { Processes } from "core/ports/processes.ts";
import { shippedDefinitions } from "core/runtimes/definitions.ts";
import { createDriver } from "units/dial/runtimes/create_driver.ts";
import { startTestDial } from "tests/support/dial_fixture.ts";
import { runtimeCommand } from "tests/support/runtime_process.ts";

const AGENT = "mia";
const [role, first, second, third] = Deno.args;
if (first === undefined || second === undefined) throw new Error("usage: turn_child.ts ROLE …");
if (role === "dial") await startDial(first, second, third ?? "");
else {
  await Deno.remove(first).catch(() => {/* no socket at the first start */});
  void serve(Deno.listen({ transport: "unix", path: first }), second);
}
console.log("ready");

async function startDial(root: string, url: string, modelUrl: string): Promise<void> {
  const definition = shippedDefinitions().get("runtime-b");
  if (definition === undefined) throw new Error("runtime-b is not shipped");
  const host = openHost({ log: { program: "dial-child", level: "error" } });
  const processes: Processes = {
    ...host.processes,
    spawn: async (spec) => {
      const child = await host.processes.spawn(spec);
      console.log(`runtime ${child.pid}`);
      return child;
    },
  };
  const paths = pathsUnder(root);
  const { command, args, env } = runtimeCommand();
  const driver = createDriver({ ...definition, command, args }, { ...host, processes }, {
    agent: AGENT,
    home: paths.home(AGENT),
    paths,
    stateDir: paths.dialState(AGENT),
    env: {
      ...env,
      FLEETCTL_PROVIDER: "openai-compatible",
      FLEETCTL_MODEL: "fake",
      FLEETCTL_BASE_URL: modelUrl,
      FLEETCTL_MODEL_KEY: "key-0123456789",
    },
  });
  await startTestDial({ url, driver, host, env: { FLEETCTL_ROOT: root } });
}

/** Serves an MCP with the tools `step` and `approve`. Each call is in the log before its answer. */
async function serve(listener: Deno.UnixListener, log: string): Promise<void> {
  for await (const connection of listener) {
    void answerAll(connection, log).catch(() => {/* the client was killed */});
  }
}

const TOOLS = ["step", "approve"].map((name) => ({
  name,
  description: `Runs ${name}.`,
  inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
}));

async function answerAll(connection: Deno.UnixConn, log: string): Promise<void> {
  let rest = "";
  for await (const chunk of connection.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const { id, method, params } = JSON.parse(line);
      if (id === undefined) continue;
      const result = await resultOf(method, params, log);
      const answer = `${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`;
      await connection.write(new TextEncoder().encode(answer));
    }
  }
}

// deno-lint-ignore no-explicit-any -- parameters of any method.
async function resultOf(method: string, params: any, log: string): Promise<unknown> {
  if (method === "tools/list") return { tools: TOOLS };
  if (method === "tools/call") {
    await Deno.writeTextFile(log, `${params.arguments.n}\n`, { append: true });
    return { content: [{ type: "text", text: `done ${params.arguments.n}` }] };
  }
  if (method !== "initialize") return {};
  const { protocolVersion } = params;
  const serverInfo = { name: "bench", version: "1.0.0" };
  return { protocolVersion, capabilities: { tools: {} }, serverInfo };
}
