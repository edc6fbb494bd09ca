/**
 * A turn with ten calls and two approvals on a booted host, which its owner sends, approves and
 * watches in two pages that are never loaded again. Runtime, dial unit, gateway and host are killed
 * in between. The turn is completed, no call is made twice (counted at the MCP server), and the
 * model and the person read which calls are unknown. Each page shows everything once.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Browser } from "playwright-core";
import { type FakeModel, startFakeModel } from "tests/fakes/model_endpoint.ts";
import { bootHost, poll } from "tests/support/booted_host.ts";
import { boundedWait } from "tests/support/bounded_wait.ts";
import { startBrowser } from "tests/support/browser.ts";
import { buildPackage } from "tests/support/built_package.ts";
import type { ShownEvent } from "tests/support/cockpit_reader.ts";
import { registryInside } from "tests/support/host_registry.ts";
import { hostSteps } from "tests/support/host_steps.ts";
import { type MarkedHub, markedHub } from "tests/support/marked_hub.ts";
import { sightOf } from "tests/support/model_sight.ts";
import { OwnerPages } from "tests/support/owner_pages.ts";
import { copyInto, DIAL, GATEWAY, installPackage } from "tests/support/packaged_host.ts";
import { VENDOR_CACHE } from "tests/support/prepare_vendor.ts";
import { ProgramHost } from "tests/support/program_host.ts";
import { PublishedPort } from "tests/support/published_port.ts";
import {
  answerOf,
  ASKING,
  CALLS,
  checkTurn,
  type CountedTools,
  messageOf,
  numberOf,
  tenCalls,
} from "tests/support/ten_calls.ts";
import { ENTRIES_OF_UP } from "tests/support/up_process.ts";
import { UNKNOWN_TEXT } from "units/agent_loop/journal/plan.ts";

const MODEL_PORT = 9001;
const HUB_PORT = 9002;
const LOGIN_PORT = 8736;
const OWNER = "ada@example.org";
const PASSWORD = "a password for ada";
const ROUND = 1;
/** Calls that are in progress when their runtime, or their dial unit, is killed. */
const HELD = [1, 5] as const;

const TOOLS: CountedTools = {
  // The runtime has a built-in tool `read`.
  step: "archive",
  approve: "publish",
  argumentsOf: (n) => ({ page: String(n) }),
  resultOf: (n, tool) => `${tool} of ${n} is done`,
};

/** Holds the calls of `HELD` at the server until the test lets them go. */
class HeldCalls {
  readonly #reached = new Map(
    HELD.map((place) => [place as number, Promise.withResolvers<void>()]),
  );
  readonly #released = Promise.withResolvers<void>();

  readonly onCall = async (call: string): Promise<void> => {
    const reached = this.#reached.get(Number(call.split(" ")[1]) - numberOf(ROUND, 0));
    if (reached === undefined) return;
    reached.resolve();
    await this.#released.promise;
  };

  async reached(place: typeof HELD[number], calls: readonly string[]): Promise<void> {
    const reached = this.#reached.get(place)?.promise ?? Promise.reject(new Error("not held"));
    await boundedWait(reached, () => `call ${place}; the server has ${calls.join(", ")}`, 30_000);
  }

  release(): void {
    this.#released.resolve();
  }
}

class Scene extends ProgramHost {
  readonly held: HeldCalls;
  /** The port of the host's login proxy, as browsers reach it. */
  readonly port: PublishedPort;
  /** What was killed → milliseconds until the turn went on. */
  readonly times = new Map<string, number>();
  #pages: OwnerPages | undefined;

  constructor(host: ProgramHost["host"], model: FakeModel, hub: MarkedHub, held: HeldCalls) {
    super(host, model, hub);
    this.held = held;
    this.port = new PublishedPort(host, LOGIN_PORT);
  }

  get pages(): OwnerPages {
    assert.ok(this.#pages !== undefined);
    return this.#pages;
  }

  set pages(opened: OwnerPages) {
    this.#pages = opened;
  }

  executed(): readonly number[] {
    return this.hub.calls.map((call) => Number(call.split(" ")[1]));
  }

  async events(): Promise<readonly ShownEvent[]> {
    const { body } = await this.askCockpit(OWNER, {
      method: "GET",
      path: "/api/transcript?agent=ada&limit=500",
    });
    const events = body.events as readonly ShownEvent[];
    const asked = events.find(({ payload }) => payload.text === messageOf(ROUND));
    return events.filter((each) => each.turn_id === asked?.turn_id);
  }

  /** Waits until the model reads the result of the call at `place`; notes the time since `from`. */
  async untilRead(place: number, what: string, from: number): Promise<void> {
    await poll(`result of call ${place}`, () => {
      const last = this.model.requests.at(-1);
      const read = last === undefined ? 0 : sightOf(last).results.length;
      return Promise.resolve(read > place ? true : undefined);
    });
    this.times.set(what, Math.round(performance.now() - from));
  }

  /** Kills a process of the host; returns when. */
  async kill(pid: string): Promise<number> {
    const at = performance.now();
    await this.must("kill", "-KILL", pid);
    return at;
  }

  async mainPid(unit: string): Promise<string> {
    return await this.property(unit, "MainPID");
  }

  /** Waits until the call at `place` is asked, and not made. */
  async untilWaits(place: number): Promise<void> {
    // A dial unit that has just started opens its socket a moment later.
    await poll("readable approvals", async () => {
      const { code } = await this.run(["fleetctl", "approvals", "list"]);
      return code === 0 ? true : undefined;
    });
    const { tool, arguments: given } = await this.untilAsked();
    const n = numberOf(ROUND, place);
    assert.deepEqual([tool, given], [TOOLS.approve, TOOLS.argumentsOf(n)]);
    assert.ok(!this.executed().includes(n));
    await this.pages.untilCard(TOOLS.approve, `"${n}"`);
  }

  /** Kills the runtime; returns when. */
  async killRuntime(): Promise<number> {
    return await this.kill(
      (await this.must("pgrep", "-u", "ada", "-f", "fleetctl-runtime")).trim(),
    );
  }
}

async function prepare(scene: Scene): Promise<void> {
  await scene.addAda(HUB_PORT);
  await scene.mark({ publish: "ask" });
  await scene.secret("FLEETCTL_BASE_URL", `http://127.0.0.1:${MODEL_PORT}/v1`);
  await scene.secret("FLEETCTL_MODEL_KEY", "sk-0123456789abcdef");
  await scene.must(
    "fleetctl",
    "agents",
    "set",
    "ada",
    "--provider",
    "openai-compatible",
    "--model",
    "m",
  );
  await scene.must("fleetctl", "apply");
  await scene.must("fleetctl", "agents", "restart", "ada");
  scene.model.script(...Array.from({ length: 60 }, () => tenCalls(TOOLS)));
}

/** Gives ada's owner a password, installs the login proxy and publishes its port. */
async function prepareLogin(scene: Scene): Promise<void> {
  const set = await scene.run(
    ["fleetctl", "webview-login", "users", "set", OWNER, "--password", "-"],
    { input: `${PASSWORD}\n` },
  );
  assert.equal(set.code, 0, set.err);
  const listen = ["--driver", "basic", "--listen", `127.0.0.1:${LOGIN_PORT}`];
  await scene.must("fleetctl", "webview-login", "install", ...listen);
  await scene.port.connect();
}

async function killRuntime(scene: Scene): Promise<void> {
  await scene.pages.send(messageOf(ROUND));
  await scene.held.reached(1, scene.hub.calls);
  await scene.pages.picture("1-held");
  await scene.untilRead(1, "runtime", await scene.killRuntime());
  await scene.untilWaits(3);
  await scene.pages.untilContinued(1);
}

async function killRuntimeThatWaits(scene: Scene): Promise<void> {
  await scene.killRuntime();
  await scene.pages.untilContinued(2);
  await scene.untilWaits(3);
  await scene.pages.picture("2-waits");
}

async function killGateway(scene: Scene): Promise<void> {
  const at = await scene.kill(await scene.mainPid(GATEWAY));
  await scene.untilWaits(3);
  await poll("approval in the page", async () => await shownApproval(scene).catch(() => undefined));
  scene.times.set("gateway", Math.round(performance.now() - at));
  await scene.pages.untilCard(TOOLS.approve, `"${numberOf(ROUND, 3)}"`);
}

/** The open approval as the owner's page reads it. */
async function shownApproval(scene: Scene): Promise<Readonly<Record<string, unknown>> | undefined> {
  const path = "/api/approvals?agent=ada";
  const { body } = await scene.askCockpit(OWNER, { method: "GET", path });
  const approvals = body.approvals as readonly Readonly<Record<string, unknown>>[];
  return approvals.find(({ state }) => state === "asked");
}

async function reboot(scene: Scene): Promise<void> {
  await scene.host.reboot();
  const up = performance.now();
  await scene.pages.untilCut();
  await scene.pages.picture("3-cut");
  await scene.port.connect();
  await scene.untilWaits(3);
  await scene.pages.picture("4-back");
  await scene.pages.approve(TOOLS.approve, "wide");
  await scene.untilRead(3, "host, rebooted", up);
}

async function killDialUnit(scene: Scene): Promise<void> {
  await scene.held.reached(5, scene.hub.calls);
  await scene.untilRead(5, "dial unit", await scene.kill(await scene.mainPid(DIAL)));
  await scene.untilWaits(7);
}

/** The owner decides while the dial unit is down; then the gateway and the host end. */
async function decideWhileDown(scene: Scene): Promise<void> {
  await poll("approval", () => shownApproval(scene));
  await scene.kill(await scene.mainPid(DIAL));
  await scene.must("systemctl", "stop", DIAL);
  await scene.pages.approve(TOOLS.approve, "narrow");
  await scene.pages.untilOnItsWay("narrow");
  await scene.pages.picture("5-decided");
  await scene.kill(await scene.mainPid(GATEWAY));
  await scene.host.crash();
  const up = performance.now();
  await scene.port.connect();
  await scene.untilRead(7, "host, crashed", up);
}

async function checkEnd(scene: Scene): Promise<void> {
  const events = await poll("end of the turn", async () => {
    const found = await scene.events();
    return found.some(({ kind }) => kind === "turn_ended") ? found : undefined;
  });
  const unknown = checkTurn(events, scene.executed(), { round: ROUND, tools: TOOLS });
  assert.deepEqual(unknown, HELD);
  assert.deepEqual(scene.executed(), Array.from({ length: 10 }, (_, at) => numberOf(ROUND, at)));
  const last = scene.model.requests.at(-1);
  assert.ok(last !== undefined);
  const read = sightOf(last).results.map(({ text }) => text);
  assert.deepEqual(read.flatMap((text, at) => text.includes(UNKNOWN_TEXT) ? [at] : []), HELD);
  const left = await scene.must("find", "/home/ada/.fleetctl/dial/journal", "-type", "f");
  assert.equal(left, "", "the journal is deleted with its turn");
  await scene.pages.checkEnd({
    message: messageOf(ROUND),
    answer: answerOf(ROUND),
    tools: Array.from(
      { length: CALLS },
      (_, place) => `hub · ${ASKING.has(place) ? TOOLS.approve : TOOLS.step}`,
    ),
    unknown,
  });
  await scene.pages.picture("6-end");
  console.log(`ms until the turn went on: ${JSON.stringify(Object.fromEntries(scene.times))}`);
}

async function openPages(scene: Scene, browser: Browser): Promise<OwnerPages> {
  const url = `http://localhost:${scene.port.port}`;
  scene.pages = await OwnerPages.open(browser, url, { user: OWNER, password: PASSWORD });
  return scene.pages;
}

Deno.test("a turn continues after runtime, dial unit, gateway and host were killed", async (t) => {
  const out = await buildPackage();
  const host = await bootHost({ target: "multi-user.target" });
  const step = hostSteps(t, [host]);
  const held = new HeldCalls();
  const model = await startFakeModel();
  const hub = markedHub(held.onCall);
  const scene = new Scene(host, model, hub, held);
  const browser = await startBrowser();
  try {
    await using _port = scene.port;
    await using _model = await registryInside(host, model.baseUrl, MODEL_PORT);
    await using _hub = await registryInside(host, hub.url, HUB_PORT);
    await step("a host with an agent and a marked MCP by URL", async () => {
      for (const name of ENTRIES_OF_UP) {
        await copyInto(host, `${VENDOR_CACHE}/${name}`, "/var/lib/fleetctl/vendor-cache");
      }
      await installPackage(host, out);
      await prepare(scene);
      await prepareLogin(scene);
    });
    await using _pages = await openPages(scene, browser);
    await step("kill -9 of the runtime in a call", () => killRuntime(scene));
    await step("kill -9 of the runtime while an approval waits", () => killRuntimeThatWaits(scene));
    await step("kill -9 of the gateway while an approval waits", () => killGateway(scene));
    await step("a reboot while it waits; it is decided afterwards", () => reboot(scene));
    await step("kill -9 of the dial unit in a call", () => killDialUnit(scene));
    await step(
      "a decision while the dial unit is down, then a crash of the host",
      () => decideWhileDown(scene),
    );
    await step("no call was made twice, and unknown ones are named", () => checkEnd(scene));
  } finally {
    held.release();
    await browser.close();
    await hub[Symbol.asyncDispose]();
    await model.close();
    await host.stop();
    await Deno.remove(out, { recursive: true });
  }
});
