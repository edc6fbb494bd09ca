/**
 * An idle agent on a booted host, awake and asleep, with the built-in runtime and with real agent
 * programs: memory of all its processes, and the time from a turn to the program and to the model.
 * The peer of a time is the same turn while the program runs. The peer of a memory is an empty Deno
 * program with one WebSocket. Then ten sleeping agents, which share the pages of Deno's program
 * file. Needs root and the right to boot hosts.
 * `./dev bench asleep`
 *
 * @module
 */

import assert from "node:assert/strict";
import { quantile } from "tests/bench/measure.ts";
import { type FakeModel, hasNoTools, startFakeModel } from "tests/fakes/model_endpoint.ts";
import { type BootedHost, bootHost, poll } from "tests/support/booted_host.ts";
import { buildPackage } from "tests/support/built_package.ts";
import { registryInside } from "tests/support/host_registry.ts";
import { unmet } from "tests/support/machine.ts";
import { copyInto, installPackage, PackagedHost, ROLES } from "tests/support/packaged_host.ts";
import { VENDOR_CACHE } from "tests/support/prepare_vendor.ts";
import { installedModules, programNamed } from "tests/support/runtime_programs.ts";
import { ENTRIES_OF_UP } from "tests/support/up_process.ts";

const ROUNDS = 10;
const AGENTS = 10;
const MODEL_PORT = 9001;
const MODEL_URL = `http://127.0.0.1:${MODEL_PORT}`;
/** Short, so that the bench does not wait; and `never` while the awake turns are timed. */
const IDLE_SECONDS = 1;
/** By then the empty program has loaded its code. */
const SETTLE_SECONDS = 3;

/** Times of one turn in milliseconds, from its request on the agent's host. */
interface TurnTimes {
  readonly toProgram: number;
  readonly toModel: number;
}

/** One runtime on the host. */
interface Subject {
  readonly runtime: string;
  readonly prepare: (scene: Scene) => Promise<void>;
}

const SUBJECTS: readonly Subject[] = [
  { runtime: "runtime-b", prepare: (scene) => scene.connectBuiltIn() },
  { runtime: "claude-code", prepare: (scene) => scene.connectProgram("claude-code") },
  { runtime: "pi", prepare: (scene) => scene.connectProgram("pi") },
];

class Scene extends PackagedHost {
  readonly #model: FakeModel;
  #askedAt = 0;

  constructor(host: BootedHost, model: FakeModel) {
    super(host);
    this.#model = model;
  }

  async secret(name: string, value: string): Promise<void> {
    const words = ["fleetctl", "secret", "set", name, "--agent", "ada", "--value", "-"];
    const ended = await this.run(words, { input: value });
    assert.equal(ended.code, 0, ended.err);
  }

  async connectBuiltIn(): Promise<void> {
    await this.secret("FLEETCTL_BASE_URL", `${MODEL_URL}/v1`);
    await this.secret("FLEETCTL_MODEL_KEY", "key-0123456789");
    const model = ["--provider", "openai-compatible", "--model", "fake"];
    await this.must("fleetctl", "agents", "set", "ada", ...model);
  }

  async connectProgram(name: string): Promise<void> {
    const program = programNamed(name);
    const folder = `/usr/local/lib/${name}`;
    await copyInto(this.host, installedModules(program), folder);
    const modules = `${folder}/node_modules`;
    await this.must("ln", "-sf", `${modules}/${program.file}`, program.definition().command);
    await this.run(["ln", "-sf", `${modules}/.bin/node`, "/usr/local/bin"]);
    const root = await Deno.makeTempDir();
    const home = `${this.host.root}/home/ada`;
    const env = await program.connect({ root, home, url: MODEL_URL });
    await Deno.remove(root, { recursive: true });
    for (const [key, value] of Object.entries(env)) await this.secret(key, value);
    await this.run(["chown", "-R", "ada:ada", "/home/ada/.pi"]);
    await this.must("fleetctl", "agents", "set", "ada", "--runtime", name);
  }

  /** Sets the idle time of a runtime, and starts the agent again. */
  async idle(runtime: string, seconds: number): Promise<void> {
    const folder = this.host.path("/etc/fleetctl/runtimes.d");
    await Deno.mkdir(folder, { recursive: true });
    await Deno.writeTextFile(`${folder}/${runtime}.yaml`, `idle_seconds: ${seconds}\n`);
    await this.must("fleetctl", "apply");
    await this.must("fleetctl", "agents", "restart", "ada");
  }

  /** Waits for a state of an agent, such as `idle null` or `idle asleep`. */
  async untilState(wanted: string, agent = "ada"): Promise<void> {
    await poll(`the state ${wanted}`, async () => {
      const shown = JSON.parse(await this.must("fleetctl", "agents", "show", agent, "--json"));
      return `${shown.state} ${shown.reason}` === wanted ? true : undefined;
    });
  }

  /** Returns the memory of all processes of some users in MB. */
  async memoryMb(users = "ada"): Promise<string> {
    const script = `for pid in $(pgrep -u "$1"); do
      awk '/^Pss(_Anon)?:/ { printf "%d ", $2 } END { print "" }' /proc/$pid/smaps_rollup; done`;
    const lines = (await this.must("sh", "-c", script, "sh", users)).trim().split("\n");
    return printMemory(lines.map((line) => {
      const [all = NaN, own = NaN] = line.split(" ").map((kib) => Number(kib) / 1024);
      return { all, own };
    }));
  }

  /** Returns the memory of an empty program with one WebSocket, in MB. */
  async emptyMb(): Promise<string> {
    const text = `new WebSocket("ws://127.0.0.1:8735/"); setInterval(() => {}, 1 << 30);`;
    await Deno.writeTextFile(`${this.host.root}/srv/empty.js`, text);
    const deno = ["/usr/lib/fleetctl/deno", "run", "-q", "--no-prompt", "--cached-only"];
    const unit = ["--unit=empty", "--uid=games", "--setenv=DENO_DIR=/tmp/empty"];
    await this.must("systemd-run", ...unit, ...deno, "--allow-net=127.0.0.1", "/srv/empty.js");
    await this.run(["sleep", String(SETTLE_SECONDS)]);
    const memory = await this.memoryMb("games");
    await this.must("systemctl", "stop", "empty");
    return memory;
  }

  /** Adds more agents, and returns the memory of all when they sleep, in MB for each. */
  async manyMb(count: number): Promise<string> {
    const names = Array.from({ length: count - 1 }, (_, at) => `agent-${at}`);
    for (const name of names) {
      const owner = ["--channel", "webview", "--user-email", `${name}@example.org`];
      await this.must("fleetctl", "agents", "add", name, ...owner);
    }
    for (const name of ["ada", ...names]) await this.untilState("idle asleep", name);
    return await this.memoryMb(["ada", ...names].join(","));
  }

  async hello(): Promise<TurnTimes> {
    this.#model.forget();
    this.#model.script(() => {
      this.#askedAt = Date.now();
      return { kind: "answer", text: "hello" };
    });
    await this.must("fleetctl", "turn", "ada", "hello");
    const { body } = await this.askCockpit("ada@example.org", {
      method: "GET",
      path: "/api/transcript?agent=ada&limit=40",
    });
    const events = body.events as readonly { readonly kind: string; readonly at: number }[];
    const at = (kind: string) => events.findLast((event) => event.kind === kind)?.at ?? NaN;
    const from = at("turn_asked");
    return { toProgram: at("turn_started") - from, toModel: this.#askedAt - from };
  }
}

interface Memory {
  /** `Pss` of `smaps_rollup`: pages that several processes share are divided among them. */
  readonly all: number;
  /** The part that is not of files, so that no other process shares it. */
  readonly own: number;
}

/** Prints the sum, and the processes when they are few; the mean when they are many. */
function printMemory(each: readonly Memory[]): string {
  const mean = each.length >= AGENTS ? each.length : 1;
  const sum = (which: keyof Memory) =>
    (each.reduce((all, one) => all + one[which], 0) / mean).toFixed(0);
  const parts = each.length === 1 || mean > 1
    ? ""
    : ` = ${each.map(({ all }) => all.toFixed(0)).join(" + ")}`;
  return `${sum("all")}${parts} (${sum("own")})`;
}

function times(turns: readonly TurnTimes[], which: keyof TurnTimes): string {
  const values = turns.map((turn) => turn[which]);
  return `${quantile(values, 0.5).toFixed(0)} (${Math.max(...values).toFixed(0)})`;
}

async function measure(scene: Scene, { runtime, prepare }: Subject): Promise<void> {
  await prepare(scene);
  await scene.idle(runtime, 0);
  await scene.untilState("idle null");
  await scene.hello();
  await scene.idle(runtime, 0);
  await scene.untilState("idle null");
  const fresh = await scene.memoryMb();
  const awake: TurnTimes[] = [];
  for (let round = 0; round < ROUNDS; round++) awake.push(await scene.hello());
  const used = await scene.memoryMb();
  await scene.idle(runtime, IDLE_SECONDS);
  const woken: TurnTimes[] = [];
  let asleep = "";
  for (let round = 0; round < ROUNDS; round++) {
    await scene.untilState("idle asleep");
    asleep = await scene.memoryMb();
    woken.push(await scene.hello());
  }
  console.log(
    `| ${runtime} | ${fresh} | ${used} | ${asleep} | ${times(awake, "toModel")} ` +
      `| ${times(woken, "toProgram")} | ${times(woken, "toModel")} |`,
  );
}

/** Boots a host, measures each runtime, prints. */
export async function benchAsleep(): Promise<void> {
  const lacks = await unmet("root") ?? await unmet("booted-hosts");
  if (lacks !== undefined) return console.log(`not measured: ${lacks}`);
  const out = await buildPackage();
  const host = await bootHost({ target: "multi-user.target", name: "asleep" });
  const model = await startFakeModel(hasNoTools);
  try {
    await using _model = await registryInside(host, model.baseUrl, MODEL_PORT);
    for (const name of ENTRIES_OF_UP) {
      await copyInto(host, `${VENDOR_CACHE}/${name}`, "/var/lib/fleetctl/vendor-cache");
    }
    await installPackage(host, out);
    await Deno.writeTextFile(`${host.root}/etc/fleetctl/roles.yaml`, ROLES);
    const identity = ["--channel", "webview", "--user-email", "ada@example.org"];
    await host.must("fleetctl", "agents", "add", "ada", ...identity);
    console.log("Memory: PSS in MB, and in brackets the part that is not of files. ");
    console.log("Times: median (largest) in ms, from the turn.\n");
    console.log(
      "| runtime | awake, fresh | awake, after turns | asleep | awake: to the model " +
        "| asleep: to the program | asleep: to the model |",
    );
    console.log("|---|---|---|---|---|---|---|");
    const scene = new Scene(host, model);
    for (const subject of SUBJECTS) await measure(scene, subject);
    console.log(`\nAn empty Deno program with one WebSocket: ${await scene.emptyMb()} MB.`);
    console.log(`${AGENTS} sleeping agents, each: ${await scene.manyMb(AGENTS)} MB.`);
  } finally {
    await model.close();
    await host.stop();
    await Deno.remove(out, { recursive: true });
  }
}
