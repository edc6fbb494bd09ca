/**
 * The ACP driver against agents that behave in every way: order, back-pressure, cancel, death,
 * permission requests, resume. The agents run in this process, over the streams of a fake program.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  agent,
  type AgentApp,
  methods,
  ndJsonStream,
  RequestError,
} from "@agentclientprotocol/sdk";
import { pathsUnder } from "core/paths.ts";
import { createDriver } from "core/runtimes/create_driver.ts";
import { shippedDefinitions } from "core/runtimes/definitions.ts";
import type { RuntimeUpdate } from "core/runtimes/driver.ts";
import type { PermissionDecider } from "core/runtimes/drivers/acp_permission.ts";
import { settle } from "tests/fakes/clock.ts";
import { memoryHost } from "tests/fakes/host.ts";
import type { FakeCall } from "tests/fakes/processes.ts";

const HOME = "/home/ada";
const SESSION_FILE = `${HOME}/.fleetctl/dial/session.json`;

/** Serves an agent app over the streams of a fake program until its input ends. */
async function serve(call: FakeCall, app: AgentApp): Promise<void> {
  const decoder = new TextDecoder();
  const output = new WritableStream<Uint8Array>({
    write: (bytes) => call.print(decoder.decode(bytes)),
  });
  await app.connect(ndJsonStream(output, call.stdin)).closed;
}

/** An agent that answers `initialize` and `session/new`; a test adds the rest. */
function plainAgent(capabilities: Readonly<Record<string, unknown>> = {}): AgentApp {
  return agent({ name: "fake" })
    .onRequest(methods.agent.initialize, () => ({
      protocolVersion: 1,
      agentCapabilities: capabilities,
    }))
    .onRequest(methods.agent.session.new, () => ({ sessionId: "s-new" }));
}

function setUp(
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

const chunk = (text: string) => ({
  sessionUpdate: "agent_message_chunk" as const,
  content: { type: "text" as const, text },
});

/** Lets promises run and the clock tick until `work` is done; the driver's time is the fake one. */
async function withTime<T>(host: ReturnType<typeof memoryHost>, work: Promise<T>): Promise<T> {
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

Deno.test("prompt() delivers every update before its outcome, one at a time", async () => {
  const { driver, host } = setUp((call) =>
    serve(
      call,
      plainAgent().onRequest(methods.agent.session.prompt, async ({ params, client }) => {
        for (let index = 0; index < 50; index++) {
          const update = chunk(`${index} `);
          await client.notify(methods.client.session.update, {
            sessionId: params.sessionId,
            update,
          });
        }
        return { stopReason: "end_turn" };
      }),
    )
  );
  const session = await driver.start();
  let running = 0;
  const seen: RuntimeUpdate[] = [];
  const outcome = await session.prompt({ turnId: "t", text: "go" }, async (update) => {
    assert.equal(++running, 1, "updates are handed over one by one");
    await settle();
    running--;
    seen.push(update);
  });
  assert.deepEqual(outcome, { outcome: "completed" });
  assert.equal(seen.length, 51);
  assert.equal(seen.at(-1)?.kind, "message");
  await withTime(host, session.close(1_000));
});

Deno.test("prompt() does not read from the runtime while an update waits", async () => {
  const { driver, host } = setUp(async (call) => {
    await serve(
      call,
      plainAgent().onRequest(methods.agent.session.prompt, async ({ params, client }) => {
        const notify = (text: string) =>
          client.notify(methods.client.session.update, {
            sessionId: params.sessionId,
            update: chunk(text),
          });
        await notify("first");
        await notify("second");
        return { stopReason: "end_turn" };
      }),
    );
  });
  const session = await driver.start();
  const gate = Promise.withResolvers<void>();
  const seen: string[] = [];
  const turn = session.prompt({ turnId: "t", text: "go" }, async (update) => {
    seen.push(update.kind === "text_delta" ? update.text : update.kind);
    if (seen.length === 1) await gate.promise;
  });
  await settle();
  await settle();
  assert.deepEqual(seen, ["first"]);
  gate.resolve();
  await turn;
  assert.deepEqual(seen, ["first", "second", "message"]);
  await withTime(host, session.close(1_000));
});

Deno.test("cancel() gives a cancelled outcome, also when the agent answers with an error", async () => {
  for (const answer of ["stop", "error"]) {
    const cancelled = Promise.withResolvers<void>();
    const { driver, host } = setUp((call) =>
      serve(
        call,
        plainAgent()
          .onNotification(methods.agent.session.cancel, () => cancelled.resolve())
          .onRequest(methods.agent.session.prompt, async () => {
            await cancelled.promise;
            if (answer === "error") throw new RequestError(-32603, "aborted");
            return { stopReason: "cancelled" };
          }),
      )
    );
    const session = await driver.start();
    const turn = session.prompt({ turnId: "t", text: "go" }, () => Promise.resolve());
    await settle();
    await session.cancel();
    assert.equal((await turn).outcome, "cancelled", answer);
    await withTime(host, session.close(1_000));
  }
});

Deno.test("cancel() kills a runtime that does not stop", async () => {
  const { driver, host } = setUp((call) =>
    serve(call, plainAgent().onRequest(methods.agent.session.prompt, () => new Promise(() => {})))
  );
  const session = await driver.start();
  const turn = session.prompt({ turnId: "t", text: "go" }, () => Promise.resolve());
  await settle();
  await session.cancel();
  const outcome = await withTime(host, turn);
  assert.equal(outcome.outcome, "cancelled");
  assert.match(outcome.reason ?? "", /signal SIGKILL/);
});

Deno.test("prompt() is interrupted when the runtime ends, with exit code and last line", async () => {
  const { driver, host } = setUp(async (call) => {
    const ended = Promise.withResolvers<number>();
    const app = plainAgent().onRequest(methods.agent.session.prompt, async ({ params, client }) => {
      await client.notify(methods.client.session.update, {
        sessionId: params.sessionId,
        update: chunk("half an ans"),
      });
      await call.warn("out of memory\n");
      ended.resolve(3);
      return await new Promise<never>(() => {});
    });
    void serve(call, app);
    return await ended.promise;
  });
  const session = await driver.start();
  const updates: RuntimeUpdate[] = [];
  const outcome = await withTime(
    host,
    session.prompt({ turnId: "t", text: "go" }, (update) => {
      updates.push(update);
      return Promise.resolve();
    }),
  );
  assert.deepEqual(outcome, {
    outcome: "interrupted",
    code: "runtime-ended",
    reason:
      'The turn was interrupted: the runtime ended with exit code 3; last line: "out of memory"',
  });
  assert.deepEqual(updates.at(-1), { kind: "message", messageId: "t-m1", text: "half an ans" });
  assert.equal(
    await session.ended,
    'the runtime ended with exit code 3; last line: "out of memory"',
  );
  const again = await session.prompt({ turnId: "u", text: "go" }, () => Promise.resolve());
  assert.equal(again.outcome, "interrupted");
});

Deno.test("prompt() loses nothing of a runtime that ended while an update waited", async () => {
  const { driver, host } = setUp(async (call) => {
    const ended = Promise.withResolvers<void>();
    const app = plainAgent().onRequest(methods.agent.session.prompt, async ({ params, client }) => {
      for (const text of ["a", "b", "c"]) {
        const update = chunk(text);
        await client.notify(methods.client.session.update, { sessionId: params.sessionId, update });
      }
      ended.resolve();
      return await new Promise<never>(() => {});
    });
    void serve(call, app);
    await ended.promise;
  });
  const session = await driver.start();
  const gate = Promise.withResolvers<void>();
  const seen: string[] = [];
  let running = 0;
  const turn = session.prompt({ turnId: "t", text: "go" }, async (update) => {
    assert.equal(++running, 1);
    if (seen.length === 0) await gate.promise;
    seen.push(update.kind === "text_delta" ? update.text : update.kind);
    running--;
  });
  await session.ended;
  for (let tick = 0; tick < 5; tick++) await host.clock.advance(2_000);
  assert.deepEqual(seen, []);
  gate.resolve();
  const outcome = await withTime(host, turn);
  assert.equal(outcome.code, "runtime-ended");
  assert.deepEqual(seen, ["a", "b", "c", "message"]);
});

Deno.test("prompt() fails with the code and reason that the runtime gives", async () => {
  const rows = [
    [
      new RequestError(-32000, "x", { code: "model-unauthorized", reason: "the key is wrong" }),
      { outcome: "failed", code: "model-unauthorized", reason: "the key is wrong" },
    ],
    [
      new RequestError(-32603, "Internal error", { details: "boom" }),
      { outcome: "failed", code: "runtime-error", reason: "Internal error: boom" },
    ],
  ] as const;
  for (const [error, wanted] of rows) {
    const { driver, host } = setUp((call) =>
      serve(
        call,
        plainAgent().onRequest(methods.agent.session.prompt, () => {
          throw error;
        }),
      )
    );
    const session = await driver.start();
    const outcome = await session.prompt({ turnId: "t", text: "go" }, () => Promise.resolve());
    assert.deepEqual(outcome, wanted);
    await withTime(host, session.close(1_000));
  }
});

for (
  const [stopReason, code] of [
    ["max_tokens", "model-output-limit"],
    ["max_turn_requests", "steps-exhausted"],
    ["refusal", "model-refusal"],
  ] as const
) {
  Deno.test(`prompt() names the stop ${stopReason} ${code}`, async () => {
    const { driver, host } = setUp((call) =>
      serve(call, plainAgent().onRequest(methods.agent.session.prompt, () => ({ stopReason })))
    );
    const session = await driver.start();
    const outcome = await session.prompt({ turnId: "t", text: "go" }, () => Promise.resolve());
    assert.deepEqual([outcome.outcome, outcome.code], ["failed", code]);
    await withTime(host, session.close(1_000));
  });
}

Deno.test("prompt() fails when an update cannot be stored, and cancels the runtime", async () => {
  const cancelled = Promise.withResolvers<void>();
  const { driver, host } = setUp((call) =>
    serve(
      call,
      plainAgent()
        .onNotification(methods.agent.session.cancel, () => cancelled.resolve())
        .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
          await client.notify(methods.client.session.update, {
            sessionId: params.sessionId,
            update: chunk("x"),
          });
          await cancelled.promise;
          return { stopReason: "cancelled" };
        }),
    )
  );
  const session = await driver.start();
  const outcome = await session.prompt(
    { turnId: "t", text: "go" },
    () => Promise.reject(new Error("disk full")),
  );
  assert.deepEqual(outcome, {
    outcome: "failed",
    code: "event-not-stored",
    reason: "An event of the turn was not stored: disk full",
  });
  await withTime(host, session.close(1_000));
});

Deno.test("prompt() refuses a second turn while one runs", async () => {
  const go = Promise.withResolvers<void>();
  const { driver, host } = setUp((call) =>
    serve(
      call,
      plainAgent().onRequest(methods.agent.session.prompt, async () => {
        await go.promise;
        return { stopReason: "end_turn" };
      }),
    )
  );
  const session = await driver.start();
  const first = session.prompt({ turnId: "t", text: "go" }, () => Promise.resolve());
  const second = await session.prompt({ turnId: "u", text: "go" }, () => Promise.resolve());
  assert.deepEqual([second.outcome, second.code], ["failed", "turn-running"]);
  go.resolve();
  assert.equal((await first).outcome, "completed");
  await withTime(host, session.close(1_000));
});

const OPTIONS = [
  { optionId: "always", name: "Always", kind: "allow_always" as const },
  { optionId: "yes", name: "Yes", kind: "allow_once" as const },
  { optionId: "no", name: "No", kind: "reject_once" as const },
];
const PERMISSION_ROWS: readonly (readonly [string, PermissionDecider | undefined, unknown])[] = [
  ["nobody decides", undefined, { outcome: "selected", optionId: "no" }],
  ["it is denied", () => Promise.resolve("deny"), { outcome: "selected", optionId: "no" }],
  ["it is allowed", () => Promise.resolve("allow"), { outcome: "selected", optionId: "yes" }],
  ["deciding fails", () => Promise.reject(new Error("x")), { outcome: "selected", optionId: "no" }],
];
for (const [when, decidePermission, wanted] of PERMISSION_ROWS) {
  Deno.test(`a permission request is answered once and never for good when ${when}`, async () => {
    let answered: unknown;
    const { driver, host } = setUp(
      (call) =>
        serve(
          call,
          plainAgent().onRequest(methods.agent.session.prompt, async ({ params, client }) => {
            const response = await client.request(methods.client.session.requestPermission, {
              sessionId: params.sessionId,
              toolCall: { toolCallId: "c", title: "rm", rawInput: { path: "/" } },
              options: OPTIONS,
            });
            answered = (response as { outcome: unknown }).outcome;
            return { stopReason: "end_turn" };
          }),
        ),
      decidePermission === undefined ? {} : { decidePermission },
    );
    const session = await driver.start();
    await session.prompt({ turnId: "t", text: "go" }, () => Promise.resolve());
    assert.deepEqual(answered, wanted);
    await withTime(host, session.close(1_000));
  });
}

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
