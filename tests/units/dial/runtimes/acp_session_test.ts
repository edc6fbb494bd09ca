/**
 * How sessions of the ACP driver begin and end: resume, a program that fails, what it is given.
 *
 * @module
 */

import assert from "node:assert/strict";
import { agent, methods, RequestError } from "@agentclientprotocol/sdk";
import { pathsUnder } from "core/paths.ts";
import { createDriver } from "core/runtimes/create_driver.ts";
import { shippedDefinitions } from "core/runtimes/definitions.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { plainAgent, serve, setUp } from "tests/core/runtimes/drivers/acp_scene.ts";
import { HOME, SESSION_FILE, withTime } from "tests/core/runtimes/drivers/driver_scene.ts";

Deno.test("start() keeps the session id and resumes, loads, or begins anew", async () => {
  const stored = JSON.stringify({ runtime: "runtime-b", session_id: "s-old" });
  const rows = [
    { capabilities: {}, files: {}, wanted: [], id: "s-new" },
    {
      capabilities: { sessionCapabilities: { resume: {} }, loadSession: true },
      files: { [SESSION_FILE]: stored },
      wanted: ["resume s-old"],
      id: "s-old",
    },
    {
      capabilities: { loadSession: true },
      files: { [SESSION_FILE]: stored },
      wanted: ["load s-old"],
      id: "s-old",
    },
    { capabilities: {}, files: { [SESSION_FILE]: stored }, wanted: [], id: "s-new" },
    {
      capabilities: { loadSession: true },
      files: { [SESSION_FILE]: '{"runtime":"runtime-a","session_id":"s-old"}' },
      wanted: [],
      id: "s-new",
    },
    {
      capabilities: { loadSession: true },
      files: { [SESSION_FILE]: "{torn" },
      wanted: [],
      id: "s-new",
    },
  ];
  for (const { capabilities, files, wanted, id } of rows) {
    const asked: string[] = [];
    const { driver, host } = setUp((call) =>
      serve(
        call,
        plainAgent(capabilities)
          .onRequest(methods.agent.session.resume, ({ params }) => {
            asked.push(`resume ${params.sessionId}`);
            return {};
          })
          .onRequest(methods.agent.session.load, ({ params }) => {
            asked.push(`load ${params.sessionId}`);
            return {};
          })
          .onRequest(methods.agent.session.prompt, ({ params }) => {
            asked.push(params.sessionId);
            return { stopReason: "end_turn" };
          }),
      ), { files });
    const session = await driver.start();
    await session.prompt({ turnId: "t", text: "go" }, () => Promise.resolve());
    assert.deepEqual(asked, [...wanted, id]);
    assert.equal(JSON.parse(host.files.text(SESSION_FILE) ?? "").session_id, id);
    await withTime(host, session.close(1_000));
  }
});

Deno.test("start() begins anew when the stored conversation is gone, and says so", async () => {
  const stored = JSON.stringify({ runtime: "runtime-b", session_id: "s-old" });
  const { driver, host } = setUp((call) =>
    serve(
      call,
      plainAgent({ loadSession: true }).onRequest(methods.agent.session.load, () => {
        throw new RequestError(-32602, "no such session");
      }),
    ), { files: { [SESSION_FILE]: stored } });
  const session = await driver.start();
  assert.equal(host.log.of("conversation lost").length, 1);
  assert.equal(JSON.parse(host.files.text(SESSION_FILE) ?? "").session_id, "s-new");
  await withTime(host, session.close(1_000));
});

Deno.test("start() rejects with the reason: no program, early end, silence, wrong version", async () => {
  const missing = memoryHost();
  const definition = shippedDefinitions().get("runtime-b");
  assert.ok(definition !== undefined);
  const context = {
    agent: "ada",
    home: HOME,
    paths: pathsUnder("/"),
    stateDir: HOME,
    env: {},
  };
  const none = createDriver(definition, missing, context);
  await assert.rejects(none.start(), /Cannot start runtime "runtime-b".*no such program/);

  const early = setUp(async (call) => {
    await call.warn("bad settings\n");
    return 2;
  });
  await assert.rejects(
    withTime(early.host, early.driver.start()),
    /the runtime ended with exit code 2; last line: "bad settings"/,
  );

  const silent = setUp(() => new Promise(() => {}));
  await assert.rejects(
    withTime(silent.host, silent.driver.start()),
    /Cannot start runtime "runtime-b": it did not answer within 60 s/,
  );

  const future = setUp((call) =>
    serve(
      call,
      agent().onRequest(
        methods.agent.initialize,
        () => ({ protocolVersion: 9, agentCapabilities: {} }),
      ),
    )
  );
  await assert.rejects(withTime(future.host, future.driver.start()), /speaks ACP version 9/);
});

Deno.test("close() kills a runtime that does not end by itself", async () => {
  const { driver, host } = setUp(async (call) => {
    void serve(call, plainAgent());
    await new Promise(() => {});
  });
  const session = await driver.start();
  await withTime(host, session.close(5_000));
  assert.equal(await session.ended, "the runtime ended with signal SIGKILL");
});

Deno.test("the driver skips what is no message on stdout", async () => {
  const { driver, host } = setUp(async (call) => {
    await call.print('Welcome to the agent!\n[1,2]\n{"level":"info"}\n');
    await serve(call, plainAgent());
  });
  const session = await driver.start();
  await withTime(host, session.close(1_000));
  assert.equal(await session.ended, "the runtime ended with exit code 0");
});

Deno.test("createDriver() fills placeholders in, hands the environment on", async () => {
  const { driver, host } = setUp((call) => serve(call, plainAgent()));
  const session = await driver.start();
  const [call] = host.processes.calls;
  assert.equal(call?.command, "/usr/lib/fleetctl/fleetctl-runtime");
  assert.deepEqual(call?.env, {
    PATH: "/bin",
    HOME,
    FLEETCTL_ROOT: "/",
    FLEETCTL_AGENT: "ada",
  });
  await withTime(host, session.close(1_000));
});
