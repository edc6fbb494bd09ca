/**
 * How sessions of the ACP driver begin and end: resuming, a failing program, and the program's
 * inputs.
 *
 * @module
 */

import assert from "node:assert/strict";
import { agent, methods, RequestError } from "@agentclientprotocol/sdk";
import { pathsUnder } from "core/paths.ts";
import { createDriver } from "units/dial/runtimes/create_driver.ts";
import { shippedDefinitions } from "core/runtimes/definitions.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { plainAgent, serve, setUp, setUpInSession } from "tests/units/dial/runtimes/acp_scene.ts";
import { HOME, SESSION_FILE, withTime } from "tests/units/dial/runtimes/driver_scene.ts";

Deno.test("start() keeps the session id, and resumes, loads or starts anew", async () => {
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

Deno.test("start() reports a lost conversation, and starts a new one", async () => {
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

Deno.test("a program gets its MCPs and its mode with its session and a resumption", async () => {
  const mcps = {
    git: { command: "/usr/lib/fleetctl/fleetctl-mcp", args: ["proxy", "git"], env: { A: "1" } },
    docs: { type: "http", url: "https://docs.example.org/mcp", headers: { X: "y" } },
  };
  const git = {
    name: "git",
    command: "/usr/lib/fleetctl/fleetctl-mcp",
    args: ["proxy", "git"],
    env: [{ name: "A", value: "1" }],
  };
  const docs = {
    type: "http",
    name: "docs",
    url: "https://docs.example.org/mcp",
    headers: [{ name: "X", value: "y" }],
  };
  const stored = { [SESSION_FILE]: '{"runtime":"runtime-x","session_id":"s-old"}' };
  for (
    const [files, http, wanted] of [
      [{}, true, ["new", [git, docs], "mode s-new manual"]],
      [{}, false, ["new", [git], "mode s-new manual"]],
      [stored, true, ["resume", [git, docs], "mode s-old manual"]],
    ] as const
  ) {
    const asked: unknown[] = [];
    const app = agent({ name: "fake" })
      .onRequest(methods.agent.initialize, () => ({
        protocolVersion: 1,
        agentCapabilities: { sessionCapabilities: { resume: {} }, mcpCapabilities: { http } },
      }))
      .onRequest(methods.agent.session.new, ({ params }) => {
        asked.push("new", params.mcpServers);
        return { sessionId: "s-new" };
      })
      .onRequest(methods.agent.session.resume, ({ params }) => {
        asked.push("resume", params.mcpServers);
        return {};
      })
      .onRequest(methods.agent.session.setMode, ({ params }) => {
        asked.push(`mode ${params.sessionId} ${params.modeId}`);
        return {};
      });
    const options = { mcps, files, sessionMode: "manual" };
    const { driver, host } = setUpInSession((call) => serve(call, app), options);
    const session = await driver.start();
    assert.deepEqual(asked, wanted);
    assert.equal(host.log.of("MCP omitted").length, http ? 0 : 1);
    await withTime(host, session.close(1_000));
  }
});

Deno.test("a program that does not accept its mode is not used", async () => {
  const { driver, host } = setUpInSession((call) => serve(call, plainAgent()), {
    sessionMode: "manual",
  });
  await assert.rejects(
    withTime(host, driver.start()),
    /Cannot start runtime "runtime-x": it does not accept the mode "manual"/,
  );
});

Deno.test("start() rejects with the reason: no program, early end, silence, version", async () => {
  const missing = memoryHost();
  const definition = shippedDefinitions().get("runtime-b");
  assert.ok(definition !== undefined);
  const context = {
    agent: "ada",
    home: HOME,
    paths: pathsUnder("/"),
    stateDir: HOME,
    env: {},
    state: [],
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

  const silent = setUp(async (call) => {
    await call.warn("starting\nopening the store\nError: read-only file system\n  at x\n{\n");
    await new Promise(() => {});
  });
  await assert.rejects(
    withTime(silent.host, silent.driver.start()),
    {
      message: 'Cannot start runtime "runtime-b": it did not answer within 90 s; ' +
        'last lines: "starting" "opening the store" "Error: read-only file system"',
    },
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

type Fields = Readonly<Record<string, unknown>>;
const CLOSES: readonly (readonly [string, Fields, () => Fields | Promise<Fields>, RegExp])[] = [
  ["closes it", { sessionCapabilities: { close: {} } }, () => ({}), /^s-new, exit code 0$/],
  ["does not offer it", {}, () => ({}), /^, exit code 0$/],
  ["refuses", { sessionCapabilities: { close: {} } }, () => {
    throw new RequestError(-32603, "busy");
  }, /^s-new, exit code 0$/],
  [
    "does not answer",
    { sessionCapabilities: { close: {} } },
    () => new Promise<Fields>(() => {}),
    /^s-new, exit code 0$/,
  ],
];
for (const [what, capabilities, answer, wanted] of CLOSES) {
  Deno.test(`close() asks to close the conversation; a program that ${what} ends`, async () => {
    const closed: string[] = [];
    const { driver, host } = setUp((call) =>
      serve(
        call,
        plainAgent(capabilities).onRequest(methods.agent.session.close, ({ params }) => {
          closed.push(params.sessionId);
          return answer();
        }),
      )
    );
    const session = await driver.start();
    await withTime(host, session.close(5_000));
    const ended = (await session.ended).replace("the runtime ended with ", "");
    assert.match(`${closed}, ${ended}`, wanted);
  });
}

Deno.test("close() kills a runtime that does not end", async () => {
  const { driver, host } = setUp(async (call) => {
    void serve(call, plainAgent());
    await new Promise(() => {});
  });
  const session = await driver.start();
  await withTime(host, session.close(5_000));
  assert.equal(await session.ended, "the runtime ended with signal SIGKILL");
});

Deno.test("processes that a runtime leaves in its process group end with it", async () => {
  let killed: AbortSignal | undefined;
  const { driver, host } = setUp(async (call) => {
    killed = call.killed;
    await serve(call, plainAgent());
  });
  const session = await driver.start();
  assert.equal(killed?.aborted, false);
  await withTime(host, session.close(5_000));
  assert.equal(await session.ended, "the runtime ended with exit code 0");
  assert.equal(killed?.aborted, true);
});

Deno.test("the driver skips stdout lines that are not message", async () => {
  const { driver, host } = setUp(async (call) => {
    await call.print('Welcome to the agent!\n[1,2]\n{"level":"info"}\n');
    await serve(call, plainAgent());
  });
  const session = await driver.start();
  await withTime(host, session.close(1_000));
  assert.equal(await session.ended, "the runtime ended with exit code 0");
});

Deno.test("createDriver() fills placeholders in, and passes the environment on", async () => {
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

Deno.test("a program receives the images of a message only when it accepts images", async () => {
  const image = { path: "/home/ada/a b.png", type: "image/png", base64: "aGk=" } as const;
  const block = {
    type: "image",
    mimeType: "image/png",
    data: "aGk=",
    uri: "file:///home/ada/a%20b.png",
  };
  const text = { type: "text", text: "see" };
  const told = "The program accepts no images; the model gets their paths only";
  for (const hasVision of [true, false]) {
    const received: unknown[] = [];
    const app = plainAgent({ promptCapabilities: { image: hasVision } })
      .onRequest(methods.agent.session.prompt, ({ params }) => {
        received.push(...params.prompt);
        return { stopReason: "end_turn" };
      });
    const { driver, host } = setUp((call) => serve(call, app));
    const session = await driver.start();
    const notices: string[] = [];
    await session.prompt({ turnId: "t", text: "see", images: [image] }, (update) => {
      if (update.kind === "notice") notices.push(update.text);
      return Promise.resolve();
    });
    assert.deepEqual(received, hasVision ? [block, text] : [text]);
    assert.deepEqual(notices, hasVision ? [] : [told]);
    await withTime(host, session.close(1_000));
  }
});
