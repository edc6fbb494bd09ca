/**
 * An ACP agent in this process, over the streams of a fake program, and the driver that talks to
 * it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { agent, type AgentApp, methods, ndJsonStream } from "@agentclientprotocol/sdk";
import { defined } from "core/defined.ts";
import type { RuntimeDefinition } from "core/runtimes/definition.ts";
import { shippedDefinitions } from "core/runtimes/definitions.ts";
import type { FakeCall, FakeProgram } from "tests/fakes/processes.ts";
import {
  type DriverScene,
  HOME,
  sceneOf,
  type SceneOptions,
} from "tests/units/dial/runtimes/driver_scene.ts";

/** Serves an agent app over the streams of a fake program until its input ends. */
export async function serve(call: FakeCall, app: AgentApp): Promise<void> {
  const decoder = new TextDecoder();
  const output = new WritableStream<Uint8Array>({
    write: (bytes) => call.print(decoder.decode(bytes)),
  });
  await app.connect(ndJsonStream(output, call.stdin)).closed;
}

/** An agent that answers `initialize` and `session/new`; a test adds the rest. */
export function plainAgent(capabilities: Readonly<Record<string, unknown>> = {}): AgentApp {
  return agent({ name: "fake" })
    .onRequest(methods.agent.initialize, () => ({
      protocolVersion: 1,
      agentCapabilities: capabilities,
    }))
    .onRequest(methods.agent.session.new, () => ({ sessionId: "s-new" }));
}

/** A driver of runtime-b whose program is `program`. */
export function setUp(program: FakeProgram, options: SceneOptions = {}): DriverScene {
  const definition = shippedDefinitions().get("runtime-b");
  assert.ok(definition !== undefined);
  const env = { PATH: "/bin", NOTIFY_SOCKET: "/run/x", LISTEN_FDS: "1" };
  return sceneOf(definition, ["fleetctl-runtime", program], { env, ...options });
}

/** A driver of a program that receives its MCPs with its session. */
export function setUpInSession(
  program: FakeProgram,
  { mcps = {}, sessionMode, ...options }: SceneOptions & {
    readonly mcps?: Readonly<Record<string, unknown>>;
    readonly sessionMode?: string;
  } = {},
): DriverScene {
  const definition: RuntimeDefinition = {
    name: "runtime-x",
    summary: "",
    command: "/opt/runtime-x",
    args: [],
    protocol: "acp",
    login: "none",
    env: {},
    state: [],
    clientConfig: { path: "{home}/.fleetctl/mcp.json", shape: "mcp_servers" },
    ...defined({ sessionMode }),
  };
  const files = {
    [`${HOME}/.fleetctl/mcp.json`]: JSON.stringify({ mcpServers: mcps }),
    ...options.files,
  };
  return sceneOf(definition, [definition.command, program], { ...options, files });
}

/** One piece of an answer, as an update. */
export const chunk = (text: string) => ({
  sessionUpdate: "agent_message_chunk" as const,
  content: { type: "text" as const, text },
});
