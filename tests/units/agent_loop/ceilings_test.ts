/**
 * A ceiling that is reached in mid-turn: the real runtime behind a real dial unit asks before each
 * model call. The turn waits for the owner, or ends with the partial answer kept.
 *
 * @module
 */

import assert from "node:assert/strict";
import { runLocalTurn, type TurnUpdate } from "cli/ask_turn.ts";
import { listApprovals, sendDecision } from "core/dial/ask_human.ts";
import { query } from "core/dial/local_query.ts";
import { openHost } from "core/os/host.ts";
import { pathsUnder } from "core/paths.ts";
import { shippedDefinitions } from "core/runtimes/definitions.ts";
import { createDriver } from "units/dial/runtimes/create_driver.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { type FakeModel, startFakeModel } from "tests/fakes/model_endpoint.ts";
import { startTestDial } from "tests/support/dial_fixture.ts";
import { runtimeCommand } from "tests/support/runtime_process.ts";

const SAFE = { sanitizeOps: false, sanitizeResources: false } as const;

interface Scene {
  readonly model: FakeModel;
  readonly at: Parameters<typeof runLocalTurn>[0];
  turn(text: string, onUpdate?: (update: TurnUpdate) => Promise<void>): Promise<{
    readonly outcome: string;
    readonly code: string;
    readonly reason: string;
    readonly kinds: readonly string[];
    readonly notices: readonly string[];
    readonly texts: readonly string[];
  }>;
}

/** Runs a test with mia's dial unit, the built-in runtime and a model endpoint. */
async function withCeiling(
  ceiling: string,
  work: (scene: Scene) => Promise<void>,
  { prices, ...more }: { readonly prices?: string; readonly FLEETCTL_FALLBACK_MODEL?: string } = {},
): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "fc-" });
  const home = `${root}/home/mia`;
  await Deno.mkdir(`${home}/workspace`, { recursive: true });
  await Deno.mkdir(`${root}/etc/fleetctl`, { recursive: true });
  if (prices !== undefined) await Deno.writeTextFile(`${root}/etc/fleetctl/prices.yaml`, prices);
  const model = await startFakeModel();
  const host = { ...openHost({ log: { program: "test", level: "error" } }), log: recordingLog() };
  const run = runtimeCommand();
  const definition = shippedDefinitions().get("runtime-b");
  assert.ok(definition !== undefined);
  const args = run.args.map((arg) => arg === "--allow-net=127.0.0.1" ? "--allow-net" : arg);
  await Deno.mkdir(`${root}/etc/fleetctl/ceilings`);
  await Deno.writeTextFile(pathsUnder(root).agentCeiling("mia"), ceiling);
  const settings = { FLEETCTL_ROOT: root };
  const driver = createDriver({ ...definition, command: run.command, args }, host, {
    agent: "mia",
    home,
    paths: pathsUnder(root),
    stateDir: home,
    env: {
      ...run.env,
      ...settings,
      FLEETCTL_PROVIDER: "openai-compatible",
      FLEETCTL_MODEL: "fake",
      FLEETCTL_BASE_URL: model.baseUrl,
      FLEETCTL_MODEL_KEY: "key-0123456789",
      ...more,
    },
  });
  const env = { ...settings, CHANNEL_USER_EMAIL: "" };
  const unit = await startTestDial({ url: "ws://127.0.0.1:9", driver, host, env });
  const at = {
    socket: `${home}/.fleetctl/dial/local.sock`,
    connect: (path: string) => host.sockets.connectUnix(path),
    clock: host.clock,
  };
  try {
    await work({ model, at, turn: (text, onUpdate) => runTurn(at, text, onUpdate) });
  } finally {
    await unit.close();
    await model.close();
    await Deno.remove(root, { recursive: true });
  }
}

async function runTurn(
  at: Scene["at"],
  text: string,
  react: (update: TurnUpdate) => Promise<void> = async () => {},
): ReturnType<Scene["turn"]> {
  const kinds: string[] = [];
  const notices: string[] = [];
  const texts: string[] = [];
  const ended = await runLocalTurn(at, { agent: "mia", text, by: "root" }, {
    stop: new AbortController().signal,
    onUpdate: async (update) => {
      if (update.type === "turn_event") {
        kinds.push(update.kind);
        if (update.kind === "notice") notices.push(String(update.payload.text));
        if (update.kind === "message") texts.push(String(update.payload.text));
      }
      await react(update);
    },
  });
  assert.ok(ended.ok, JSON.stringify(ended));
  const { outcome, code = "", reason = "" } = ended.value.end;
  return {
    outcome: String(outcome),
    code: String(code),
    reason: String(reason),
    kinds,
    notices,
    texts,
  };
}

/** An answer that calls a tool, and one that does not; each uses 500 tokens. */
const usage = { input: 400, output: 100 };
const CALL = {
  kind: "answer",
  text: "I look.",
  calls: [{ tool: "bash", arguments: { command: "true" } }],
  usage,
} as const;
const DONE = { kind: "answer", text: "Done.", usage } as const;

Deno.test({
  name: "a ceiling reached in mid-turn ends it before the next model call, and keeps the answer",
  ...SAFE,
  fn: () =>
    withCeiling("day=1000-tokens", async ({ model, turn, at }) => {
      model.script(CALL, CALL, DONE);
      const first = await turn("work");
      assert.equal(model.requests.length, 2);
      assert.deepEqual([first.outcome, first.code], ["failed", "ceiling-reached"]);
      assert.match(first.reason, /has spent 1,000 tokens of the 1,000 tokens .*this day/);
      assert.match(first.reason, /fleetctl ceilings allow mia day=500-tokens/);
      assert.deepEqual(first.texts, ["I look.", "I look."]);
      assert.ok(first.kinds.includes("usage"));
      // The next turn does not reach the model either.
      const second = await turn("go on");
      assert.equal(second.code, "ceiling-reached");
      assert.equal(model.requests.length, 2);
      // With more allowed, it continues where it stopped.
      const more = { type: "ceiling_allow", agent: "mia", period: "day", unit: "tokens" } as const;
      const allowed = await query(at, { ...more, more: 1_000, by: "root" }, 64 * 1024);
      assert.ok(allowed.ok && allowed.value.type === "ceiling_result");
      assert.equal(allowed.value.ceiling.limit, 2_000);
      const third = await turn("go on");
      assert.deepEqual([third.outcome, third.texts], ["completed", ["Done."]]);
      const history = JSON.stringify(model.requests.at(-1)?.body.messages);
      assert.match(history, /I look\..*go on/);
    }),
});

Deno.test({
  name: "a turn that reaches its ceiling waits for the owner's card and continues",
  ...SAFE,
  fn: () =>
    withCeiling("day=1000-tokens+500-tokens", async ({ model, turn, at }) => {
      model.script(CALL, CALL, DONE);
      const ended = await turn("work", async (update) => {
        if (update.type !== "turn_event" || update.kind !== "approval_asked") return;
        assert.equal(model.requests.length, 2);
        const listed = await listApprovals(at);
        const [card] = listed.ok ? listed.value : [];
        assert.ok(card !== undefined);
        assert.equal(card.tool, "spend_more");
        assert.match(String(card.arguments.allow_more), /^500 tokens$/);
        const { id, digest } = card;
        const by = "the operator";
        assert.ok((await sendDecision(at, { id, digest, decision: "approved", by })).ok);
      });
      assert.deepEqual([ended.outcome, ended.texts], ["completed", [
        "I look.",
        "I look.",
        "Done.",
      ]]);
      assert.equal(model.requests.length, 3);
    }),
});

Deno.test({
  name: "from four fifths of a ceiling, one notice warns before the next model call",
  ...SAFE,
  fn: () =>
    withCeiling("hour=1200-tokens,day=1m-tokens", async ({ model, turn }) => {
      model.script(CALL, CALL, DONE);
      const ended = await turn("work");
      assert.equal(ended.outcome, "completed");
      assert.equal(ended.notices.length, 1);
      assert.match(ended.notices[0] ?? "", /1,000 tokens of the 1,200 tokens .* this hour/);
    }),
});

Deno.test({
  name: "a ceiling in dollars refuses a model without a price before its first call",
  ...SAFE,
  fn: () =>
    withCeiling("day=5usd", async ({ model, turn }) => {
      const ended = await turn("work");
      assert.equal(ended.code, "ceiling-unpriced");
      assert.match(ended.reason, /"fake" has no price, must have one in \/etc\/fleetctl\/prices/);
      assert.equal(model.requests.length, 0);
    }),
});

/** One dollar for a thousand tokens of the first model, and for a million of the fallback. */
const PRICE = "{ source: test, prices: [{ from: 2026-01-01, input: 1000, output: 1000 }] }";
const CHEAP = "{ source: test, prices: [{ from: 2026-01-01, input: 1, output: 1 }] }";
const FALLBACK = { FLEETCTL_FALLBACK_MODEL: "other" };
const OVERLOADED = Array.from({ length: 5 }, () => ({
  kind: "status",
  status: 529,
  headers: { "retry-after-ms": "1" },
} as const));

Deno.test({
  name: "a ceiling in dollars counts each model's tokens at its price",
  ...SAFE,
  fn: () =>
    withCeiling("day=1usd", async ({ model, turn }) => {
      model.script(CALL, ...OVERLOADED, CALL, DONE);
      const first = await turn("work");
      assert.equal(first.outcome, "completed");
      assert.equal(model.requests.at(-1)?.body.model, "other");
      // Half a dollar for the first model's 500 tokens; the fallback's 1,000 are a tenth of a cent.
      model.script(CALL, DONE);
      const second = await turn("go on");
      assert.equal(second.code, "ceiling-reached", "the first model's second answer reaches it");
      assert.match(second.reason, /has spent 1\.00 USD/);
    }, { prices: `models: { fake: ${PRICE}, other: ${CHEAP} }`, ...FALLBACK }),
});

Deno.test({
  name: "a fallback does not hide what the first model has spent in the turn",
  ...SAFE,
  fn: () =>
    withCeiling("day=0.5usd", async ({ model, turn }) => {
      // 0.40 USD of the first model, and 0.20 USD of the fallback.
      model.script({ ...CALL, usage: { input: 300, output: 100 } }, ...OVERLOADED, {
        ...CALL,
        usage: { input: 200_000, output: 0 },
      });
      const ended = await turn("work");
      assert.deepEqual([ended.outcome, ended.code], ["failed", "ceiling-reached"]);
      assert.match(ended.reason, /has spent 0\.60 USD/);
    }, { prices: `models: { fake: ${PRICE}, other: ${CHEAP} }`, ...FALLBACK }),
});

Deno.test({
  name: "a ceiling in dollars refuses a fallback without a price before its first call",
  ...SAFE,
  fn: () =>
    withCeiling("day=5usd", async ({ model, turn }) => {
      model.script(CALL, ...OVERLOADED);
      const ended = await turn("work");
      assert.equal(ended.code, "ceiling-unpriced");
      assert.match(ended.reason, /"other" has no price/);
      assert.equal(model.requests.length, 6);
    }, { prices: `models: { fake: ${PRICE} }`, ...FALLBACK }),
});
