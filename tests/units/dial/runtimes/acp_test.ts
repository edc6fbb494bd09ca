/**
 * Turns of the ACP driver with well-behaved and faulty agents: order, back-pressure, cancel, death,
 * faults.
 *
 * @module
 */

import assert from "node:assert/strict";
import { methods, RequestError } from "@agentclientprotocol/sdk";
import type { RuntimeUpdate } from "units/dial/runtimes/driver.ts";
import { settle } from "tests/fakes/clock.ts";
import { chunk, plainAgent, serve, setUp } from "tests/units/dial/runtimes/acp_scene.ts";
import { withTime } from "tests/units/dial/runtimes/driver_scene.ts";

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

Deno.test("cancel() ends the turn as cancelled, even after an invalid answer", async () => {
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

Deno.test("prompt() is interrupted when the runtime ends, with code and last line", async () => {
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
  Deno.test(`prompt() fails with ${code} for the stop reason ${stopReason}`, async () => {
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
