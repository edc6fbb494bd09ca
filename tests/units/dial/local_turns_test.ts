/**
 * Turns from an agent's own host, without a gateway and with one, whose transcript names the
 * caller. Also turns that are cancelled, refused, or whose watcher disconnects.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type LocalTurn, runLocalTurn, type TurnUpdate } from "cli/ask_turn.ts";
import { openHost } from "core/os/host.ts";
import type { Attached } from "cli/attachments.ts";
import type { PromptImage, RuntimeDriver } from "units/dial/runtimes/driver.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { hang, scriptedRuntime } from "tests/fakes/runtime.ts";
import { cockpitReader } from "tests/support/cockpit_reader.ts";
import { hastyClock, liveHost, startTestDial } from "tests/support/dial_fixture.ts";
import { startTestGateway } from "tests/support/gateway_fixture.ts";
import { pngOf, SAMPLES } from "tests/support/sample_images.ts";

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
      more?: Partial<LocalTurn>,
      stop?: AbortSignal,
      onNews?: (news: TurnUpdate) => void,
    ) => ReturnType<typeof runLocalTurn>,
    root: string,
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
    await work(
      (more = {}, stop = new AbortController().signal, onNews = () => {}) =>
        runLocalTurn(at, { ...TURN, ...more }, { stop, onUpdate: async (news) => onNews(news) }),
      root,
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

async function* attached(...files: readonly Attached[]) {
  yield* files;
}

Deno.test({
  name: "files of a turn reach its runtime: images as images, all with their paths",
  ...SAFE,
  fn: async () => {
    const png = await pngOf(640, 480);
    const large = new Uint8Array(1_000_000).map((_, n) => n % 251);
    let text = "";
    let images: readonly PromptImage[] = [];
    const driver = scriptedRuntime(async (stage) => {
      ({ text, images = [] } = stage);
      for (const { path } of images) assert.deepEqual(await Deno.readFile(path), png);
      return { outcome: "completed" };
    });
    await withUnit({ driver }, async (turn) => {
      const shown: unknown[] = [];
      const files = attached(
        { name: "shot.png", bytes: png },
        { name: "data.bin", bytes: large },
        { name: "lies.png", bytes: SAMPLES.svg },
      );
      const ended = await turn({ files }, undefined, (news) => {
        if (news.type === "turn_event") shown.push(news.payload.files ?? news.payload.text);
      });
      assert.ok(ended.ok);
      const { turnId } = ended.value;
      assert.deepEqual(images.map(({ type, base64 }) => [type, base64]), [
        ["image/png", png.toBase64()],
      ]);
      const note = "The model does not see the image lies.png: its content is not a PNG, JPEG, " +
        "GIF or WebP image";
      const lines = text.split("\n");
      assert.equal(lines[0], "hello");
      assert.equal(lines[1], `[attachment: shot.png, ${png.length} bytes: ${images[0]?.path}]`);
      assert.match(lines[2] ?? "", new RegExp(`1000000 bytes: .*/${turnId}/2-data.bin\\]$`));
      assert.equal(lines[4], `[${note}]`);
      assert.deepEqual(shown, [
        [
          {
            n: 1,
            name: "shot.png",
            size: png.length,
            media_type: "image/png",
            width: 640,
            height: 480,
          },
          { n: 2, name: "data.bin", size: 1_000_000 },
          { n: 3, name: "lies.png", size: SAMPLES.svg.length },
        ],
        undefined,
        note,
        undefined,
      ]);
    });
  },
});

Deno.test({
  name: "files of a turn that is refused are removed",
  ...SAFE,
  fn: () =>
    withUnit({ driver: scriptedRuntime() }, async (turn, root) => {
      const files = attached({ name: "shot.png", bytes: SAMPLES.gif });
      const refused = await turn({ files, text: " " });
      assert.ok(!refused.ok);
      assert.equal(refused.error.code, "turn-text-invalid");
      const folder = `${root}/home/mia/.fleetctl/dial/files`;
      assert.deepEqual([...Deno.readDirSync(folder)], []);
      const foreign = await turn({
        files: attached({ name: "a", bytes: SAMPLES.gif }),
        agent: "bo",
      });
      assert.ok(!foreign.ok);
      assert.deepEqual([...Deno.readDirSync(folder)], []);
    }),
});

Deno.test({
  name: "an image that a program returns is an event of the turn and a file of the agent",
  ...SAFE,
  fn: async () => {
    const info = { type: "image/gif", width: 1, height: 1, bytes: 42 } as const;
    const image = { ...info, base64: SAMPLES.gif.toBase64() };
    const driver = scriptedRuntime(async ({ report }) => {
      await report({ kind: "image", callId: "c1", image });
      await report({ kind: "image", image: { path: "/none.png" } });
      return { outcome: "completed" };
    });
    await withUnit({ driver }, async (turn) => {
      const events: TurnUpdate[] = [];
      assert.ok((await turn({}, undefined, (news) => events.push(news))).ok);
      const kept = events.find((news) => news.type === "turn_event" && news.kind === "attachment");
      assert.ok(kept?.type === "turn_event");
      const { path, ...payload } = kept.payload;
      assert.deepEqual(payload, {
        n: 65,
        name: "image.gif",
        size: 42,
        media_type: "image/gif",
        width: 1,
        height: 1,
        call_id: "c1",
      });
      assert.deepEqual(await Deno.readFile(String(path)), SAMPLES.gif);
      assert.equal((await Deno.stat(String(path))).mode! & 0o777, 0o600);
      const lost = events.find((news) => news.type === "turn_event" && news.kind === "notice");
      assert.ok(lost?.type === "turn_event");
      assert.match(String(lost.payload.text), /^The image \(\/none.png\) is not in the transcript/);
    });
  },
});
