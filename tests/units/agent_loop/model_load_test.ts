/**
 * Loading the model in a runtime: a failed load ends that turn only. The ACP client and the agent
 * share this process; the demo model's listener fails at its first start.
 *
 * @module
 */

import assert from "node:assert/strict";
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";
import type { Host } from "core/ports/host.ts";
import { systemClock } from "core/os/clock.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { createRuntime } from "units/agent_loop/runtime.ts";

Deno.test("a model that could not be loaded is loaded by the next turn", async () => {
  const host = hostWhoseFirstListenerFails();
  const runtime = await createRuntime({
    env: {},
    home: "/home/ada",
    agent: "ada",
    tree: undefined,
    clientConfig: "/home/ada/mcp.json",
  }, host);
  const [toAgent, toClient] = [new TransformStream(), new TransformStream()];
  const served = runtime.agent.app.connect(ndJsonStream(toClient.writable, toAgent.readable));
  const { agent } = client({ name: "test" }).connect(
    ndJsonStream(toAgent.writable, toClient.readable),
  );
  await agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: {},
  });
  const { sessionId } = await agent.request(methods.agent.session.new, {
    cwd: "/home/ada",
    mcpServers: [],
  });
  const turn = () =>
    agent.request(methods.agent.session.prompt, {
      sessionId,
      prompt: [{ type: "text", text: "what can you do" }],
    });
  await assert.rejects(turn(), /no free port/);
  assert.equal((await turn()).stopReason, "end_turn");
  served.close();
  await runtime.close();
});

/** A machine on which the first listener cannot be opened. */
function hostWhoseFirstListenerFails(): Host {
  const host = memoryHost({ http: (request) => fetch(request) });
  let opened = 0;
  return {
    ...host,
    clock: systemClock(),
    sockets: {
      ...host.sockets,
      serveHttp: (...args) =>
        ++opened === 1
          ? Promise.reject(new Error("no free port"))
          : host.sockets.serveHttp(...args),
    },
  };
}
