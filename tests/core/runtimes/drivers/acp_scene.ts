/**
 * An ACP agent in this process, over the streams of a fake program, and the driver that talks to it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { agent, type AgentApp, methods, ndJsonStream } from "@agentclientprotocol/sdk";
import { pathsUnder } from "core/paths.ts";
import { createDriver } from "core/runtimes/create_driver.ts";
import { shippedDefinitions } from "core/runtimes/definitions.ts";
import type { PermissionDecider } from "core/runtimes/drivers/acp_permission.ts";
import { settle } from "tests/fakes/clock.ts";
import { memoryHost } from "tests/fakes/host.ts";
import type { FakeCall } from "tests/fakes/processes.ts";

/** Home of the agent, and where its driver keeps the session. */
export const HOME = "/home/ada";
export const SESSION_FILE = `${HOME}/.fleetctl/dial/session.json`;

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
export function setUp(
  program: (call: FakeCall) => Promise<number | void> | number | void,
  options: {
    readonly files?: Readonly<Record<string, string>>;
    readonly decidePermission?: PermissionDecider;
  } = {},
) {
  const host = memoryHost({
    programs: { "fleetctl-runtime": program },
    ...(options.files === undefined ? {} : { files: options.files }),
  });
  const definition = shippedDefinitions().get("runtime-b");
  assert.ok(definition !== undefined);
  const driver = createDriver(definition, host, {
    agent: "ada",
    home: HOME,
    paths: pathsUnder("/"),
    stateDir: `${HOME}/.fleetctl/dial`,
    env: { PATH: "/bin", NOTIFY_SOCKET: "/run/x", LISTEN_FDS: "1" },
    ...(options.decidePermission === undefined
      ? {}
      : { decidePermission: options.decidePermission }),
  });
  return { host, driver };
}

/** A piece of an answer, as an update. */
export const chunk = (text: string) => ({
  sessionUpdate: "agent_message_chunk" as const,
  content: { type: "text" as const, text },
});

/** Lets promises run and the clock tick until `work` is done; the driver's time is the fake one. */
export async function withTime<T>(
  host: ReturnType<typeof memoryHost>,
  work: Promise<T>,
): Promise<T> {
  let done = false;
  const finish = () => {
    done = true;
  };
  work.then(finish, finish);
  for (let turn = 0; turn < 200 && !done; turn++) {
    await settle();
    if (!done && turn > 20) await host.clock.advanceToNext();
  }
  return await work;
}
