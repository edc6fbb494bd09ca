/**
 * A dial unit with a real gateway: turns, states, cancels, a runtime that dies, messages between
 * agents over the local socket.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { SqlValue } from "core/ports/databases.ts";
import { FileFault } from "core/ports/files.ts";
import { openHost } from "core/os/host.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import { hang, scriptedRuntime, type TurnStage } from "tests/fakes/runtime.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { cockpitReader, type ShownEvent } from "tests/support/cockpit_reader.ts";
import { hastyClock, liveHost, startTestDial } from "tests/support/dial_fixture.ts";
import {
  connectBare,
  registerBare,
  startTestGateway,
  type TestGateway,
} from "tests/support/gateway_fixture.ts";
import { readDialConfig } from "units/dial/config.ts";

const SAFE = { sanitizeOps: true, sanitizeResources: true } as const;

function test(
  name: string,
  fn: (at: TestGateway, cockpit: ReturnType<typeof cockpitReader>) => Promise<void>,
): void {
  Deno.test({
    name,
    ...SAFE,
    fn: async () => {
      await using running = await startTestGateway({ host: liveHost({ seed: 3 }) });
      await fn(running, cockpitReader(() => running.cockpitUrl));
    },
  });
}
const states = (events: readonly ShownEvent[]) =>
  events.filter(({ kind }) => kind === "agent_state").map(({ payload }) => payload.state);
const endOf = (events: readonly ShownEvent[], turnId: string) =>
  events.find((event) => event.kind === "turn_ended" && event.turn_id === turnId)?.payload;

test("a turn goes to the runtime and its answer to the transcript", async (running, cockpit) => {
  const unit = await startTestDial({ url: running.dialUrl, driver: scriptedRuntime() });
  const turnId = await cockpit.post("hello");
  const events = await cockpit.follow(({ kind }) => kind === "turn_ended");
  assert.equal(endOf(events, turnId)?.outcome, "completed");
  assert.equal(events.find(({ kind }) => kind === "message")?.payload.text, "hello");
  await unit.close();
  const all = await cockpit.all();
  assert.deepEqual(states(all), ["starting", "idle", "working", "idle", "stopping", "stopped"]);
});

test("turns run one at a time, in order", async (running, cockpit) => {
  let atOnce = 0;
  const driver = scriptedRuntime(async ({ text, report }: TurnStage) => {
    assert.equal(++atOnce, 1);
    await report({ kind: "notice", text });
    await new Promise((done) => setTimeout(done, 0));
    atOnce--;
    return { outcome: "completed" };
  });
  const ids = [];
  for (let n = 0; n < 5; n++) ids.push(await cockpit.post(`t${n}`));
  const unit = await startTestDial({ url: running.dialUrl, driver });
  let ended = 0;
  await cockpit.follow(({ kind }) => kind === "turn_ended" && ++ended === 5);
  assert.deepEqual(driver.begun, ids);
  await unit.close();
});

test("a running turn is cancelled, a waiting one never begins", async (running, cockpit) => {
  const driver = scriptedRuntime(hang);
  const unit = await startTestDial({ url: running.dialUrl, driver });
  const first = await cockpit.post("one");
  const second = await cockpit.post("two");
  await cockpit.follow((event) => event.kind === "turn_started" && event.turn_id === first);
  await cockpit.follow((event) => event.kind === "turn_delivered" && event.turn_id === second);
  await cockpit.cancel(second);
  await cockpit.follow((event) => event.kind === "turn_ended" && event.turn_id === second);
  await cockpit.cancel(first);
  const events = await cockpit.follow((event) =>
    event.kind === "turn_ended" && event.turn_id === first
  );
  assert.equal(endOf(events, first)?.outcome, "cancelled");
  assert.equal(endOf(events, second)?.code, "cancelled-before-start");
  assert.deepEqual(driver.begun, [first]);
  await unit.close();
});

test(
  "a runtime that dies in mid-turn ends the turn and is started again",
  async (running, cockpit) => {
    const driver = scriptedRuntime((stage) =>
      stage.text === "die" ? hang() : Promise.resolve({ outcome: "completed" })
    );
    const unit = await startTestDial({ url: running.dialUrl, driver });
    const first = await cockpit.post("die");
    await cockpit.follow(({ kind }) => kind === "turn_started");
    driver.kill("signal SIGKILL");
    const second = await cockpit.post("live");
    const events = await cockpit.follow((event) =>
      event.kind === "turn_ended" && event.turn_id === second
    );
    assert.equal(endOf(events, first)?.outcome, "interrupted");
    assert.equal(endOf(events, second)?.outcome, "completed");
    const failed = events.find(({ payload }) => payload.state === "failed");
    assert.equal(failed?.payload.reason, "signal SIGKILL");
    assert.equal(driver.starts(), 2);
    await unit.close();
  },
);

test("a runtime that does not start fails the turn with the reason", async (running, cockpit) => {
  const driver = scriptedRuntime();
  driver.failStarts("there is no such program");
  const unit = await startTestDial({ url: running.dialUrl, driver });
  const first = await cockpit.post("one");
  const events = await cockpit.follow(({ kind }) => kind === "turn_ended");
  assert.deepEqual(endOf(events, first), {
    outcome: "failed",
    code: "runtime-not-started",
    reason: "there is no such program",
  });
  driver.failStarts(undefined);
  const second = await cockpit.post("two");
  const later = await cockpit.follow((event) =>
    event.kind === "turn_ended" && event.turn_id === second
  );
  assert.equal(endOf(later, second)?.outcome, "completed");
  await unit.close();
});

test("a turn that waits for the program's start is cancelled at once", async (running, cockpit) => {
  const driver = scriptedRuntime();
  const letStart = driver.holdStart();
  const unit = await startTestDial({ url: running.dialUrl, driver });
  const first = await cockpit.post("one");
  await cockpit.follow((event) => event.kind === "turn_delivered" && event.turn_id === first);
  await cockpit.cancel(first);
  const events = await cockpit.follow(({ kind }) => kind === "turn_ended");
  assert.equal(endOf(events, first)?.code, "cancelled-before-start");
  const second = await cockpit.post("two");
  letStart();
  await cockpit.follow((event) => event.kind === "turn_ended" && event.turn_id === second);
  assert.deepEqual(driver.begun, [second]);
  await unit.close();
});

const isAsleep = ({ payload }: ShownEvent) =>
  payload.state === "idle" && payload.reason === "asleep";

test("a sleeping agent is idle, and a turn wakes it", async (running, cockpit) => {
  const driver = scriptedRuntime();
  let releases = 0;
  const releaseMemory = () => void releases++;
  const unit = await startTestDial({ url: running.dialUrl, driver, idleMs: 1, releaseMemory });
  await cockpit.follow(isAsleep);
  assert.equal(releases, 1);
  const turnId = await cockpit.post("good morning");
  const events = await cockpit.follow(({ kind }) => kind === "turn_ended");
  assert.equal(endOf(events, turnId)?.outcome, "completed");
  const woken = ["starting", "idle", "working"];
  assert.deepEqual(states(events).slice(0, 6), ["starting", "idle", "idle", ...woken]);
  assert.equal(driver.starts(), 2);
  let sleeps = 0;
  await cockpit.follow((event) => isAsleep(event) && ++sleeps === 2);
  assert.equal(releases, 2);
  await unit.close();
});

test("a turn that comes while the program ends is run once", async (running, cockpit) => {
  const driver = scriptedRuntime();
  const log = recordingLog();
  const host = { ...liveHost({ seed: 7, clock: hastyClock() }), log };
  const letEnd = driver.holdEnd();
  const unit = await startTestDial({ url: running.dialUrl, driver, host, idleMs: 1 });
  await log.next("runtime goes to sleep");
  const turnId = await cockpit.post("now");
  await cockpit.follow((event) => event.kind === "turn_delivered");
  assert.deepEqual(driver.begun, []);
  letEnd();
  const events = await cockpit.follow(({ kind }) => kind === "turn_ended");
  assert.equal(endOf(events, turnId)?.outcome, "completed");
  assert.deepEqual(driver.begun, [turnId]);
  await unit.close();
});

test(
  "a turn that waits for a waking program survives a stop of the unit",
  async (running, cockpit) => {
    const driver = scriptedRuntime();
    const host = liveHost({ seed: 7, clock: hastyClock() });
    const unit = await startTestDial({ url: running.dialUrl, driver, host, idleMs: 1 });
    await cockpit.follow(isAsleep);
    driver.holdStart();
    const turnId = await cockpit.post("now");
    await cockpit.follow((event) => event.kind === "turn_delivered");
    await unit.close();
    const next = scriptedRuntime();
    const again = await startTestDial({ url: running.dialUrl, driver: next, host });
    const events = await cockpit.follow(({ kind }) => kind === "turn_ended");
    assert.equal(endOf(events, turnId)?.outcome, "completed");
    assert.deepEqual([driver.begun, next.begun], [[], [turnId]]);
    await again.close();
  },
);

test("a stopped unit ends its turn and reports it", async (running, cockpit) => {
  const unit = await startTestDial({ url: running.dialUrl, driver: scriptedRuntime(hang) });
  const turnId = await cockpit.post("one");
  await cockpit.follow(({ kind }) => kind === "turn_started");
  await unit.close();
  const end = endOf(await cockpit.all(), turnId);
  assert.equal(end?.code, "dial-stopped");
});

test(
  "once the unit has proven its key, the same identity without it is refused",
  async (running, cockpit) => {
    const unit = await startTestDial({ url: running.dialUrl, driver: scriptedRuntime() });
    await cockpit.follow(({ payload }) => payload.state === "idle");
    const stranger = await connectBare(running.dialUrl);
    stranger.send({ type: "register", user_email: "mia@example.org", agent: "mia" });
    assert.equal((await stranger.closed).code, 1008);
    assert.ok(unit.isConnected());
    await unit.close();
  },
);

test(
  "a full outbox stops the reading of the runtime until the gateway is back",
  async (running, cockpit) => {
    const big = "x".repeat(200_000);
    const COUNT = Math.ceil((2 * DIAL_LIMITS.outboxBytesMax) / big.length);
    let reported = 0;
    const driver = scriptedRuntime(async ({ report }) => {
      for (let n = 0; n < COUNT; n++) {
        await report({ kind: "notice", text: `${n}:${big}` });
        reported++;
      }
      return { outcome: "completed" };
    });
    const log = recordingLog();
    const host = { ...liveHost({ seed: 7, clock: hastyClock() }), log };
    const turnId = await cockpit.post("flood");
    const unit = await startTestDial({ url: running.dialUrl, driver, host });
    await cockpit.follow(({ kind }) => kind === "turn_started");
    await running.gateway.close();
    await log.next("outbox is full, the runtime waits");
    const stopped = reported;
    await new Promise((done) => setTimeout(done, 50));
    assert.equal(reported, stopped);
    assert.ok(reported < COUNT, "everything was taken from the runtime");
    await using again = await startTestGateway({
      host: running.host,
      dialPort: running.gateway.dial.port,
    });
    const events = await cockpitReader(() => again.cockpitUrl).follow(({ kind }) =>
      kind === "turn_ended"
    );
    assert.equal(endOf(events, turnId)?.outcome, "completed");
    await unit.close();
  },
);

Deno.test({
  name: "a turn that cannot be stored is not accepted, and is sent again",
  ...SAFE,
  fn: async () => {
    await using running = await startTestGateway({ host: liveHost({ seed: 3 }) });
    const cockpit = cockpitReader(() => running.cockpitUrl);
    const base = liveHost({ seed: 7, clock: hastyClock() });
    let refusals = 2;
    const databases = {
      open: async (path: string) => {
        const db = await base.databases.open(path);
        return {
          ...db,
          prepare: (sql: string) => {
            const statement = db.prepare(sql);
            if (!sql.startsWith("insert or ignore into turns")) return statement;
            return {
              ...statement,
              run: (...values: readonly SqlValue[]) => {
                if (refusals-- > 0) throw new FileFault("ENOSPC", path, "no space left");
                return statement.run(...values);
              },
            };
          },
        };
      },
    };
    const driver = scriptedRuntime();
    const host = { ...base, databases };
    const unit = await startTestDial({ url: running.dialUrl, driver, host });
    const turnId = await cockpit.post("hello");
    const events = await cockpit.follow(({ kind }) => kind === "turn_ended");
    assert.equal(endOf(events, turnId)?.outcome, "completed");
    assert.deepEqual(driver.begun, [turnId]);
    assert.ok(refusals <= 0);
    await unit.close();
  },
});

Deno.test({
  name: "a program of the agent writes to another agent over the local socket",
  ...SAFE,
  fn: async () => {
    await using running = await startTestGateway({ host: liveHost({ seed: 3 }) });
    const root = await Deno.makeTempDir({ prefix: "fc-" });
    const host = {
      ...openHost({ log: { program: "test", level: "error" } }),
      clock: hastyClock(),
      log: recordingLog(),
    };
    const unit = await startTestDial({
      url: running.dialUrl,
      driver: scriptedRuntime(),
      host,
      env: { FLEETCTL_ROOT: root },
    });
    try {
      const path = `${root}/home/mia/.fleetctl/dial/local.sock`;
      assert.equal((await Deno.stat(path)).mode! & 0o777, 0o600);
      assert.equal(
        (await Deno.stat(`${root}/home/mia/.fleetctl/dial/key.json`)).mode! & 0o777,
        0o600,
      );
      const bob = await registerBare(running.dialUrl, {
        user_email: "bob@example.org",
        agent: "bob",
      });
      const stream = await host.sockets.connectUnix(path);
      const writer = stream.writable.getWriter();
      const source = stream.readable.pipeThrough(new TextDecoderStream()).getReader();
      const ask = async (line: string) => {
        await writer.write(new TextEncoder().encode(`${line}\n`));
        return JSON.parse((await source.read()).value ?? "null") as Record<string, unknown>;
      };
      assert.deepEqual(await ask('{"type":"agents"}'), {
        type: "agents_result",
        names: ["ada", "bob"],
      });
      const sent = await ask('{"type":"message","to":"bob","text":"hello bob"}');
      assert.deepEqual(sent, { type: "message_result", ok: true });
      assert.equal((await bob.next("turn")).origin, "agent:mia");
      const refused = await ask('{"type":"message","to":"ghost","text":"x"}');
      assert.equal(refused.code, "receiver-unknown");
      assert.equal((await ask("garbage")).code, "request-invalid");
      stream.close();
    } finally {
      await unit.close();
      await Deno.remove(root, { recursive: true });
    }
  },
});

const faults = [
  { env: { FLEETCTL_AGENT: undefined }, want: "FLEETCTL_AGENT" },
  { env: { CHANNEL_WEBVIEW_GATEWAY_URL: "http://x" }, want: "CHANNEL_WEBVIEW_GATEWAY_URL" },
  { env: { FLEETCTL_RUNTIME: undefined }, want: "FLEETCTL_RUNTIME" },
];
for (const { env, want } of faults) {
  Deno.test(`readDialConfig() refuses ${JSON.stringify(env)}`, () => {
    const config = readDialConfig({
      FLEETCTL_AGENT: "mia",
      CHANNEL_USER_EMAIL: "mia@example.org",
      FLEETCTL_RUNTIME: "runtime-b",
      ...env,
    });
    assert.ok(!config.ok);
    assert.deepEqual(config.error.details.map((line) => line.split(":")[0]), [want]);
  });
}
