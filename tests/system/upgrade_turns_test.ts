/**
 * An upgrade under load on a booted host: agents with a turn are replaced after it, idle ones at
 * once, and no turn is cut. The limit is reached by moving the recorded time back. Changes of
 * rights, and `apply --now`, do not wait.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { RenderRecord } from "units/reconcile/record.ts";
import { REPLACEMENT_MS_MAX } from "units/reconcile/replacement.ts";
import { dialUnit } from "units/render/unit_name.ts";
import { poll } from "tests/support/booted_host.ts";
import type { ShownEvent } from "tests/support/cockpit_reader.ts";
import { hostSteps } from "tests/support/host_steps.ts";
import { DAEMON } from "tests/support/packaged_host.ts";
import { AGENTS, type DaemonScene, openScene } from "tests/system/daemon/scene.ts";

const PROGRAM = "/usr/lib/fleetctl/fleetctl-runtime.js";
const RECORD = "/var/lib/fleetctl/rendered.json";
const OVERDUE =
  /^The agent is replaced by its new version during this turn\. The turn continues\.$/;

const ABOUT_RESTARTS = /replaced|continues/;

/** What `apply --json` and `status --json` print, as far as it counts here. */
interface Shown {
  readonly units: readonly { readonly unit: string; readonly change: string }[];
  readonly waiting: readonly { readonly agent: string; readonly until: string }[];
  readonly problems: readonly { readonly code: string; readonly message: string }[];
}

/** The host under load. */
class Load {
  readonly scene: DaemonScene;
  /** Turns that were sent, with their agent. */
  readonly sent: (readonly [agent: string, turnId: string])[] = [];
  #version = 0;

  constructor(scene: DaemonScene) {
    this.scene = scene;
  }

  /** Sends a turn. */
  async send(agent: string, text: string): Promise<string> {
    const { status, body } = await this.scene.askCockpit(`${agent}@example.org`, {
      method: "POST",
      path: "/api/turns",
      body: { agent, text },
    });
    assert.equal(status, 202, JSON.stringify(body));
    const id = String(body.turn_id);
    this.sent.push([agent, id]);
    return id;
  }

  /** Sends a turn with a slow call; resolves with its id when the call runs. */
  async sendSlow(agent: string): Promise<string> {
    await this.scene.must("rm", "-f", this.#file(agent, "go"), this.#file(agent, "runs"));
    const command = `touch ~/runs; until [ -e ~/go ]; do sleep 0.1; done; echo released`;
    const id = await this.send(agent, `call bash ${JSON.stringify({ command })}`);
    await poll(`slow call of ${agent}`, async () => {
      const { code } = await this.scene.run(["test", "-e", this.#file(agent, "runs")]);
      return code === 0 ? true : undefined;
    });
    return id;
  }

  /** Lets the slow call return. */
  async release(agent: string): Promise<void> {
    await this.scene.must("touch", this.#file(agent, "go"));
  }

  #file(agent: string, name: string): string {
    return `/home/${agent}/${name}`;
  }

  async events(agent: string, turnId: string): Promise<readonly ShownEvent[]> {
    const { body } = await this.scene.askCockpit(`${agent}@example.org`, {
      method: "GET",
      path: `/api/transcript?agent=${agent}&limit=500`,
    });
    return (body.events as readonly ShownEvent[]).filter((each) => each.turn_id === turnId);
  }

  /** Waits for the end of a turn; returns its notices about restarts. */
  async ended(agent: string, turnId: string): Promise<readonly string[]> {
    const events = await poll(`end of a turn of ${agent}`, async () => {
      const found = await this.events(agent, turnId);
      return found.some(({ kind }) => kind === "turn_ended") ? found : undefined;
    });
    const end = events.find(({ kind }) => kind === "turn_ended");
    assert.equal(end?.payload.outcome, "completed", JSON.stringify(events));
    return events.filter(({ kind }) => kind === "notice").map(({ payload }) => String(payload.text))
      .filter((text) => ABOUT_RESTARTS.test(text));
  }

  /** Installs another version of a program of the agents. */
  async upgrade(): Promise<void> {
    await this.scene.must("sh", "-c", `echo '// ${++this.#version}' >> ${PROGRAM}`);
  }

  async json(...words: readonly string[]): Promise<Shown> {
    const ended = await this.scene.run(["fleetctl", ...words, "--json"]);
    return JSON.parse(ended.out);
  }

  pidOf(agent: string): Promise<string> {
    return this.scene.property(dialUnit(agent), "MainPID");
  }

  async pids(): Promise<ReadonlyMap<string, string>> {
    const all = AGENTS.map(async (agent) => [agent, await this.pidOf(agent)] as const);
    return new Map(await Promise.all(all));
  }

  /** Waits until another process of the dial unit runs. */
  async replaced(agent: string, before: string): Promise<void> {
    await poll(`new process of ${agent}`, async () => {
      const pid = await this.pidOf(agent);
      return pid !== before && pid !== "0" ? true : undefined;
    });
  }

  /** Moves the time since which an agent waits back by the limit. */
  async reachLimit(agent: string): Promise<void> {
    const record = JSON.parse(await this.scene.must("cat", RECORD)) as RenderRecord;
    const unit = record.units[dialUnit(agent)];
    assert.ok(unit?.waitsSince !== undefined, `${agent} waits`);
    const waitsSince = unit.waitsSince - REPLACEMENT_MS_MAX;
    const units = { ...record.units, [dialUnit(agent)]: { ...unit, waitsSince } };
    const input = JSON.stringify({ ...record, units });
    const written = await this.scene.run([
      "sh",
      "-c",
      `cat > ${RECORD}.new && mv ${RECORD}.new ${RECORD}`,
    ], { input });
    assert.equal(written.code, 0, written.err);
  }
}

const changed = ({ units }: Shown) => units.map(({ unit, change }) => `${change} ${unit}`);

async function idleAtOnce(load: Load): Promise<void> {
  const before = await load.pids();
  await load.sendSlow("ada");
  await load.sendSlow("bob");
  await load.upgrade();
  const applied = await load.json("apply");
  assert.deepEqual(changed(applied), [`restarted ${dialUnit("zoe")}`]);
  assert.deepEqual(applied.waiting.map(({ agent }) => agent), ["ada", "bob"]);
  const after = await load.pids();
  assert.notEqual(after.get("zoe"), before.get("zoe"));
  assert.deepEqual([after.get("ada"), after.get("bob")], [before.get("ada"), before.get("bob")]);
  const status = await load.scene.run(["fleetctl", "status"]);
  assert.equal(status.code, 3, status.out + status.err);
  assert.match(status.out, /! Agent "ada" has run the old version since the upgrade at \S+Z: it /);
  assert.match(status.out, /^ {4}fleetctl apply --now$/m);
}

/** The turn ends by itself, and the turn behind it runs in the new version. */
async function afterTheTurn(load: Load): Promise<void> {
  const [, slow] = load.sent.find(([agent]) => agent === "ada") ?? [];
  const before = await load.pidOf("ada");
  const next = await load.send("ada", "what can you do");
  await load.release("ada");
  assert.deepEqual(await load.ended("ada", slow ?? ""), []);
  await load.replaced("ada", before);
  assert.deepEqual(await load.ended("ada", next), []);
}

/** No agent is replaced without the daemon; the next daemon continues. */
async function killedDaemon(load: Load): Promise<void> {
  const before = await load.pidOf("bob");
  await load.scene.must("systemctl", "kill", "-s", "KILL", DAEMON);
  await load.scene.must("systemctl", "start", DAEMON);
  const [, slow] = load.sent.find(([agent]) => agent === "bob") ?? [];
  assert.equal(await load.pidOf("bob"), before);
  await load.release("bob");
  assert.deepEqual(await load.ended("bob", slow ?? ""), []);
  await load.replaced("bob", before);
  await untilNoneWaits(load);
}

async function untilNoneWaits(load: Load): Promise<void> {
  await poll("no waiting agent", async () => {
    const { problems } = await load.json("status");
    return problems.some(({ code }) => code === "old-version-runs") ? undefined : true;
  });
}

async function overTheLimit(load: Load): Promise<void> {
  const slow = await load.sendSlow("ada");
  const before = await load.pidOf("ada");
  await load.upgrade();
  assert.deepEqual((await load.json("apply")).waiting.map(({ agent }) => agent), ["ada"]);
  await load.reachLimit("ada");
  await load.replaced("ada", before);
  await load.release("ada");
  const notices = await load.ended("ada", slow);
  assert.equal(notices.filter((text) => OVERDUE.test(text)).length, 1, notices.join("\n"));
  await untilNoneWaits(load);
}

async function now(load: Load): Promise<void> {
  const slow = await load.sendSlow("ada");
  await load.upgrade();
  assert.deepEqual((await load.json("apply")).waiting.map(({ agent }) => agent), ["ada"]);
  const applied = await load.json("apply", "--now");
  assert.deepEqual(changed(applied), [`restarted ${dialUnit("ada")}`]);
  assert.deepEqual(applied.waiting, []);
  await load.release("ada");
  const notices = await load.ended("ada", slow);
  assert.equal(notices.filter((text) => OVERDUE.test(text)).length, 1, notices.join("\n"));
}

/** A change of what an agent may do ends its wait. */
async function rights(load: Load): Promise<void> {
  const slow = await load.sendSlow("bob");
  await load.upgrade();
  assert.deepEqual((await load.json("apply")).waiting.map(({ agent }) => agent), ["bob"]);
  await load.scene.must("fleetctl", "mcp", "remove", "browser", "bob");
  const applied = await load.json("apply");
  assert.deepEqual(changed(applied), [`restarted ${dialUnit("bob")}`]);
  await load.release("bob");
  assert.ok(!(await load.ended("bob", slow)).some((text) => OVERDUE.test(text)));
}

async function rebooted(load: Load): Promise<void> {
  const slow = await load.sendSlow("ada");
  await load.upgrade();
  assert.deepEqual((await load.json("apply")).waiting.map(({ agent }) => agent), ["ada"]);
  await load.scene.host.reboot();
  await load.release("ada");
  await load.ended("ada", slow);
  await untilNoneWaits(load);
}

async function wrongInputs(load: Load): Promise<void> {
  const rows = [
    ["root", ["apply", "--waiting", "--now"], 2, /--waiting .* cannot be combined with --now/],
    ["root", ["apply", "--waiting", "--dry-run"], 2, /cannot be combined with --dry-run/],
    ["ada", ["apply", "self", "--waiting"], 2, /cannot be combined with "self"/],
    ["bob", ["apply", "--now"], 4, /^fleetctl: /],
    ["bob", ["apply", "--waiting"], 4, /^fleetctl: /],
    ["root", ["apply", "--waiting"], 0, /^$/],
  ] as const;
  for (const [user, words, code, text] of rows) {
    const ended = await load.scene.run(["fleetctl", ...words], { user });
    assert.equal(ended.code, code, `${user} ${words.join(" ")}: ${ended.out}${ended.err}`);
    assert.match(ended.err, text);
  }
}

/** Returns the turns that did not run to their end in one go, with the reason. */
async function cutTurns(load: Load): Promise<readonly string[]> {
  const cut: string[] = [];
  for (const [agent, turnId] of load.sent) {
    const events = await load.events(agent, turnId);
    const isWhole = events.some(({ kind, payload }) =>
      kind === "turn_ended" && payload.outcome === "completed"
    ) && !events.some(({ kind, payload }) =>
      kind === "notice" && String(payload.text).startsWith("The turn continues")
    );
    if (!isWhole) {
      cut.push(`${agent} ${turnId}`);
    }
  }
  return cut;
}

Deno.test("an upgrade under load cuts no turn", async (t) => {
  const { host, scene } = await openScene();
  const step = hostSteps(t, [host]);
  const load = new Load(scene);
  try {
    await scene.settled();
    await step("apply replaces idle agents; status names those that wait", () => idleAtOnce(load));
    await step("a busy agent is replaced after its turn", () => afterTheTurn(load));
    await step("a killed daemon forgets no agent that waits", () => killedDaemon(load));
    await step("no turn was cut", async () => assert.deepEqual(await cutTurns(load), []));
    await step("after 30 minutes an agent is replaced in its turn", () => overTheLimit(load));
    await step("apply --now replaces an agent in its turn", () => now(load));
    await step("a removed MCP does not wait", () => rights(load));
    await step("a reboot ends the wait", () => rebooted(load));
    await step("wrong inputs are refused", () => wrongInputs(load));
  } finally {
    await host.stop();
  }
});
