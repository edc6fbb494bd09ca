/**
 * The first token of a real agent program: through the gateway and the dial unit of a running `up`,
 * and from the program alone over its own protocol. Both sides have the same program, arguments and
 * model endpoint, and no MCPs. Warm: the program runs. Cold: it starts with its conversation.
 * `./dev bench first-token`
 *
 * @module
 */

import { pathsUnder } from "core/paths.ts";
import { quantile } from "tests/bench/measure.ts";
import { startProgramAlone } from "tests/bench/program_alone.ts";
import { type FakeModel, hasNoTools, startFakeModel } from "tests/fakes/model_endpoint.ts";
import { poll } from "tests/support/booted_host.ts";
import { openPage, type Page } from "tests/support/page_client.ts";
import {
  programFile,
  programNamed,
  programPath,
  type RuntimeProgram,
} from "tests/support/runtime_programs.ts";
import { makeRoot, runVerb, startUp } from "tests/support/up_process.ts";

const PROGRAMS = ["claude-code", "pi"];
const WARM_ROUNDS = 30;
const COLD_ROUNDS = 8;
/** Long enough that a program does not sleep within a warm round. */
const IDLE_SECONDS = { warm: 0, cold: 1 };

/** Milliseconds from the message to the first token, of both sides. */
interface Times {
  readonly alone: number[];
  readonly through: number[];
}

/** One program, as an agent of a running `up` and alone. */
class Scene {
  readonly root: string;
  readonly program: RuntimeProgram;
  readonly model: FakeModel;
  readonly #command: string;
  readonly #page: Page;

  constructor(root: string, program: RuntimeProgram, { model, page }: {
    readonly model: FakeModel;
    readonly page: Page;
  }) {
    this.root = root;
    this.program = program;
    this.model = model;
    this.#page = page;
    this.#command = `${root}/${program.name}`;
  }

  async verb(words: readonly string[], stdin?: string): Promise<string> {
    const done = await runVerb(this.root, words, stdin === undefined ? {} : { stdin });
    if (done.code !== 0) throw new Error(`fleetctl ${words.join(" ")}: ${done.stderr}`);
    return done.stdout;
  }

  /** Gives the agent the program, and connects it to the model. */
  async connect(): Promise<void> {
    const path = programPath(this.program);
    const file = programFile(this.program);
    await Deno.writeTextFile(this.#command, `#!/bin/sh\nPATH=${path} exec ${file} "$@"\n`, {
      mode: 0o755,
    });
    for (const [key, value] of Object.entries(await this.#env(`${this.root}/home/ada`))) {
      await this.verb(["secret", "set", key, "--agent", "ada", "--value", "-"], value);
    }
    await this.verb(["agents", "set", "ada", "--runtime", this.program.name]);
  }

  #env(home: string): Promise<Readonly<Record<string, string>>> {
    const url = new URL(this.model.baseUrl).origin;
    return this.program.connect({ root: this.root, home, url });
  }

  /** Sets the idle time, and starts the agent again. */
  async idle(seconds: number): Promise<void> {
    const folder = pathsUnder(this.root).runtimesDir;
    await Deno.mkdir(folder, { recursive: true });
    const text = `command: ${this.#command}\nidle_seconds: ${seconds}\n`;
    await Deno.writeTextFile(`${folder}/${this.program.name}.yaml`, text);
    await this.verb(["apply"]);
    await this.verb(["agents", "restart", "ada"]);
    await this.until("idle");
  }

  async until(state: string): Promise<void> {
    await poll(`the state ${state}`, async () => {
      const shown = JSON.parse(await this.verb(["agents", "show", "ada", "--json"]));
      return [shown.state, shown.reason].includes(state) ? true : undefined;
    });
  }

  /** Starts the program without fleetctl, in its own home. */
  async startAlone(options: { readonly resumes: boolean }) {
    const home = `${this.root}/alone`;
    await Deno.mkdir(`${home}/workspace`, { recursive: true });
    const command = this.#command;
    const env = await this.#env(home);
    return startProgramAlone(this.program, { command, home, lib: pathsUnder(this.root).lib, env }, {
      ...options,
    });
  }

  /** Sends a turn as the page does; returns the time to the first token on its event stream. */
  async through(): Promise<number> {
    this.#script();
    const started = performance.now();
    let first = NaN;
    await this.#page.turn("ada", "say something", undefined, ({ kind }) => {
      // A short answer may be complete before its first preview is due.
      const isText = kind === "preview" || kind === "message";
      if (isText && Number.isNaN(first)) first = performance.now() - started;
      return Promise.resolve();
    });
    if (Number.isNaN(first)) throw new Error("the turn ended without a token");
    return first;
  }

  /** Sends a message to the program alone. */
  async alone(say: (text: string) => Promise<number>): Promise<number> {
    this.#script();
    return await say("say something");
  }

  #script(): void {
    this.model.forget();
    this.model.script({ kind: "answer", text: "The quick brown fox jumps over the lazy dog." });
  }
}

async function warm(scene: Scene): Promise<Times> {
  await scene.idle(IDLE_SECONDS.warm);
  const times: Times = { alone: [], through: [] };
  await using program = await scene.startAlone({ resumes: false });
  for (let round = -2; round < WARM_ROUNDS; round++) {
    const alone = await scene.alone(program.say);
    const through = await scene.through();
    if (round < 0) continue;
    times.alone.push(alone);
    times.through.push(through);
  }
  return times;
}

async function cold(scene: Scene): Promise<Times> {
  await scene.idle(IDLE_SECONDS.cold);
  const times: Times = { alone: [], through: [] };
  for (let round = 0; round < COLD_ROUNDS; round++) {
    await scene.until("asleep");
    times.through.push(await scene.through());
    const started = performance.now();
    await using program = await scene.startAlone({ resumes: true });
    const startedIn = performance.now() - started;
    times.alone.push(startedIn + await scene.alone(program.say));
  }
  return times;
}

function print(what: string, { alone, through }: Times): void {
  const [middle, tail] = [0.5, 0.95].map((q) => [quantile(alone, q), quantile(through, q)]);
  const cells = [middle, tail].flatMap((pair) => {
    const [first = NaN, second = NaN] = pair ?? [];
    return [first, second, second - first].map((ms) => ms.toFixed(0));
  });
  console.log(`| ${what} | ${alone.length} | ${cells.join(" | ")} |`);
}

/** Measures each program, and prints what the way through fleetctl adds. */
export async function benchFirstToken(): Promise<void> {
  const root = await makeRoot();
  await using up = startUp(root);
  await up.line(/^ready /);
  const model = await startFakeModel(hasNoTools);
  const page = await openPage(root);
  console.log(
    "| program | runs | alone: p50 ms | through: p50 ms | added | alone: p95 ms " +
      "| through: p95 ms | added |",
  );
  console.log("|---|---|---|---|---|---|---|---|");
  try {
    for (const program of PROGRAMS) {
      const scene = new Scene(root, programNamed(program), { model, page });
      const { mcps } = JSON.parse(await scene.verb(["agents", "show", "ada", "--json"]));
      for (const { name } of mcps) await scene.verb(["mcp", "remove", name, "ada"]);
      await scene.connect();
      print(`${program}, warm`, await warm(scene));
      print(`${program}, cold`, await cold(scene));
    }
  } finally {
    page.close();
    await model.close();
  }
}
