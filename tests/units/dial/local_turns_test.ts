/**
 * Turns from an agent's own host, without a gateway and with one, whose transcript names the
 * caller. Also turns that are cancelled, refused, or whose watcher disconnects.
 *
 * @module
 */

import assert from "node:assert/strict";
import { runLocalTurn, type TurnUpdate } from "cli/ask_turn.ts";
import { openHost } from "core/os/host.ts";
import type { RuntimeDriver } from "units/dial/runtimes/driver.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { hang, scriptedRuntime } from "tests/fakes/runtime.ts";
import { cockpitReader } from "tests/support/cockpit_reader.ts";
import { hastyClock, liveHost, startTestDial } from "tests/support/dial_fixture.ts";
import { startTestGateway } from "tests/support/gateway_fixture.ts";

const SAFE = { sanitizeOps: true, sanitizeResources: true } as const;
const TURN = { agent: "mia", text: "hello", by: 'admin agent "zoe"' };

/** A dial unit of mia under a root on this machine, and turns over its socket. */
async function withUnit(
  of: {
    readonly driver: RuntimeDriver;
    readonly url?: string;
    readonly env?: Readonly<Record<string, string>>;
  },
  work: (
    turn: (
      more?: Partial<typeof TURN & { conversation: string }>,
      stop?: AbortSignal,
      onNews?: (news: TurnUpdate) => void,
    ) => ReturnType<typeof runLocalTurn>,
  ) => Promise<void>,
): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "fc-" });
  const host = {
    ...openHost({ log: { program: "test", level: "error" } }),
    clock: hastyClock(),
    log: recordingLog(),
  };
  const { driver, url = "ws://127.0.0.1:9", env = {} } = of;
  const unit = await startTestDial({ url, driver, host, env: { FLEETCTL_ROOT: root, ...env } });
  const at = {
    socket: `${root}/home/mia/.fleetctl/dial/local.sock`,
    connect: (path: string) => host.sockets.connectUnix(path),
    clock: host.clock,
  };
  try {
    await work((more = {}, stop = new AbortController().signal, onNews = () => {}) =>
      runLocalTurn(at, { ...TURN, ...more }, { stop, onUpdate: async (news) => onNews(news) })
    );
  } finally {
    await unit.close();
    await Deno.remove(root, { recursive: true });
  }
}

Deno.test({
  name: "a turn from the host is in the gateway's transcript with its caller",
  ...SAFE,
  fn: async () => {
    await using running = await startTestGateway({ host: liveHost({ seed: 3 }) });
    const cockpit = cockpitReader(() => running.cockpitUrl);
    await withUnit({ driver: scriptedRuntime(), url: running.dialUrl }, async (turn) => {
      const kinds: string[] = [];
      const ended = await turn({}, undefined, (news) => {
        kinds.push(news.type === "turn_event" ? news.kind : news.type);
      });
      assert.ok(ended.ok);
      assert.equal(ended.value.end.outcome, "completed");
      assert.deepEqual(kinds.filter((kind) => kind !== "turn_preview"), [
        "turn_asked",
        "turn_started",
        "message",
        "turn_ended",
      ]);
      const { turnId } = ended.value;
      const events = await cockpit.follow((event) =>
        event.kind === "turn_ended" && event.turn_id === turnId
      );
      const asked = events.find(({ kind }) => kind === "turn_asked");
      assert.deepEqual(asked?.payload, { text: "hello", by: 'admin agent "zoe"' });
      assert.equal(asked?.turn_id, turnId);
    });
  },
});

Deno.test({
  name: "an agent without a gateway runs turns",
  ...SAFE,
  fn: () =>
    withUnit({ driver: scriptedRuntime(), env: { CHANNEL_USER_EMAIL: "" } }, async (turn) => {
      for (const text of ["one", "two"]) {
        let output = "";
        const ended = await turn({ text }, undefined, (news) => {
          if (news.type === "turn_event" && news.kind === "message") {
            output = `${news.payload.text}`;
          }
        });
        assert.ok(ended.ok);
        assert.equal(output, text);
      }
    }),
});

Deno.test({
  name: "a request to stop cancels the turn of its connection",
  ...SAFE,
  fn: () =>
    withUnit({ driver: scriptedRuntime(hang) }, async (turn) => {
      const stop = new AbortController();
      const ended = await turn({}, stop.signal, (news) => {
        if (news.type === "turn_event" && news.kind === "turn_started") stop.abort();
      });
      assert.ok(ended.ok);
      assert.equal(ended.value.end.outcome, "cancelled");
    }),
});

Deno.test({
  name: "a turn for another agent, without text or with too much of it is refused",
  ...SAFE,
  fn: () =>
    withUnit({ driver: scriptedRuntime() }, async (turn) => {
      for (
        const [more, code] of [
          [{ agent: "ada" }, "agent-mismatch"],
          [{ text: " \n" }, "turn-text-invalid"],
          [{ text: "x".repeat(256 * 1024 + 1) }, "turn-text-invalid"],
        ] as const
      ) {
        const refused = await turn(more);
        assert.equal(refused.ok ? "" : refused.error.code, code);
      }
    }),
});

Deno.test({
  name: "a turn from the host runs in the conversation that it names",
  ...SAFE,
  fn: async () => {
    const driver = scriptedRuntime();
    await withUnit({ driver, env: { CHANNEL_USER_EMAIL: "" } }, async (turn) => {
      const asked: unknown[] = [];
      for (const conversation of ["b", "default", "b"]) {
        const ended = await turn({ conversation }, undefined, (news) => {
          if (news.type === "turn_event" && news.kind === "turn_asked") {
            asked.push(news.payload.conversation);
          }
        });
        assert.ok(ended.ok);
      }
      assert.deepEqual(asked, ["b", undefined, "b"]);
      assert.deepEqual(driver.opened, ["default", "b", "default", "b"]);
      const refused = await turn({ conversation: "No name" });
      assert.equal(refused.ok ? "ran" : refused.error.code, "request-invalid");
    });
  },
});
