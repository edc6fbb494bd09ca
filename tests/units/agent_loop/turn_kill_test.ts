/**
 * `kill -9` of runtime, dial unit or gateway at a random moment of a turn with ten calls, two of
 * which need approval. The turn continues: no call is made twice (counted at the MCP server), each
 * call has one result, and an unknown outcome is named. `FLEETCTL_ROUNDS` sets the number of
 * rounds.
 *
 * @module
 */

import assert from "node:assert/strict";
import { listApprovals, sendDecision } from "core/dial/ask_human.ts";
import { systemClock } from "core/os/clock.ts";
import { connectUnix } from "core/os/connect_unix.ts";
import { pathsUnder } from "core/paths.ts";
import {
  type FakeModel,
  type ModelReply,
  type ModelRequest,
  startFakeModel,
} from "tests/fakes/model_endpoint.ts";
import { seededRandom } from "tests/fakes/random.ts";
import { cockpitReader, type ShownEvent } from "tests/support/cockpit_reader.ts";
import { freePort } from "tests/support/free_port.ts";
import { writeClientConfig } from "tests/support/runtime_process.ts";
import { UNKNOWN_TEXT } from "units/agent_loop/journal/plan.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? 20);
const CALLS = 10;
const ASKING: ReadonlySet<number> = new Set([3, 7]);
const VICTIMS = ["runtime", "dial", "gateway"] as const;
const WAIT_MS = 60_000;

type Part = "server" | "gateway" | "dial";

/** The parts under one root; the runtime is a child of the dial unit. */
class Parts {
  readonly root: string;
  readonly #ports: readonly [cockpit: number, dial: number];
  readonly #modelUrl: string;
  readonly #running = new Map<Part, Deno.ChildProcess>();
  #runtimePid = 0;

  constructor(root: string, ports: readonly [number, number], modelUrl: string) {
    this.root = root;
    this.#ports = ports;
    this.#modelUrl = modelUrl;
  }

  get cockpitUrl(): string {
    return `http://127.0.0.1:${this.#ports[0]}`;
  }

  get log(): string {
    return `${this.root}/executed.log`;
  }

  async start(part: Part): Promise<void> {
    const [cockpit, dial] = this.#ports;
    const turnChild = "tests/support/turn_child.ts";
    const args = {
      gateway: ["tests/support/approval_child.ts", "gateway", this.root, `${cockpit}`, `${dial}`],
      dial: [turnChild, "dial", this.root, `ws://127.0.0.1:${dial}`, this.#modelUrl],
      server: [turnChild, "server", `${this.root}/bench.sock`, this.log],
    }[part];
    const process = new Deno.Command(Deno.execPath(), {
      args: ["run", "-q", "-A", "--no-check", ...args],
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.#running.set(part, process);
    const ready = Promise.withResolvers<void>();
    void this.#read(process.stdout, ready.resolve);
    await ready.promise;
  }

  async #read(stdout: ReadableStream<Uint8Array>, onReady: () => void): Promise<void> {
    for await (const text of stdout.pipeThrough(new TextDecoderStream())) {
      for (const line of text.split("\n")) {
        if (line === "ready") onReady();
        else if (line.startsWith("runtime ")) this.#runtimePid = Number(line.slice(8));
      }
    }
  }

  /** Kills a part; a part that nothing else starts is started again. */
  async kill(victim: typeof VICTIMS[number]): Promise<void> {
    if (victim === "runtime") {
      try {
        Deno.kill(this.#runtimePid, "SIGKILL");
      } catch {
        // It has just ended by itself, such as after its dial unit.
      }
      return;
    }
    await this.end(victim);
    await this.start(victim);
  }

  async end(part: Part): Promise<void> {
    const process = this.#running.get(part);
    process?.kill("SIGKILL");
    await process?.status;
    this.#running.delete(part);
  }

  async executed(): Promise<readonly number[]> {
    const text = await Deno.readTextFile(this.log).catch(() => "");
    return text.split("\n").filter((line) => line !== "").map(Number);
  }
}

/** The model's next step follows from what it is sent, so that it may be asked again. */
function nextStep({ body }: ModelRequest): ModelReply {
  const messages: readonly { readonly role: string; readonly content: string }[] = body.messages;
  const from = messages.findLastIndex(({ role }) => role === "user");
  const round = Number(/round (\d+)/.exec(messages[from]?.content ?? "")?.[1]);
  const place = messages.slice(from).filter(({ role }) => role === "tool").length;
  if (place >= CALLS) return { kind: "answer", text: `round ${round} is done` };
  const tool = ASKING.has(place) ? "approve" : "step";
  return { kind: "answer", calls: [{ tool, arguments: { n: round * 100 + place } }] };
}

/** Polls until there is a value, because the other side is another process. */
async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const deadline = performance.now() + WAIT_MS;
  while (performance.now() < deadline) {
    const found = await look().catch(() => undefined);
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`no ${what} in ${WAIT_MS / 1000} s`);
}

/** Approves whatever is asked, until `stop` aborts. */
async function approveAll(root: string, stop: AbortSignal): Promise<void> {
  const socket = pathsUnder(root).dialSocket("mia");
  const target = { socket, connect: connectUnix, clock: systemClock() };
  while (!stop.aborted) {
    const listed = await listApprovals(target);
    for (const { id, digest, state } of listed.ok ? listed.value : []) {
      if (state !== "asked") continue;
      await sendDecision(target, { id, digest, decision: "approved", by: "the operator" });
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

interface Round {
  readonly n: number;
  readonly victim: typeof VICTIMS[number];
  readonly killMs: number;
}

/** Plays one turn with one kill; returns the time from the kill to the next event, and unknowns. */
async function playRound(parts: Parts, round: Round) {
  const cockpit = cockpitReader(() => parts.cockpitUrl);
  const turnId = await until("answer of the gateway", () => cockpit.post(`round ${round.n}`));
  const own = async () => (await cockpit.all()).filter((event) => event.turn_id === turnId);
  await new Promise((resolve) => setTimeout(resolve, round.killMs));
  await parts.kill(round.victim);
  const killedAt = performance.now();
  const before = (await parts.executed()).length;
  let goesOnMs = 0;
  const events = await until("end of the turn", async () => {
    const found = await own();
    const isOver = found.some(({ kind }) => kind === "turn_ended");
    const hasMoved = isOver || (await parts.executed()).length > before;
    if (goesOnMs === 0 && hasMoved) goesOnMs = performance.now() - killedAt;
    return isOver ? found : undefined;
  });
  return { goesOnMs, unknown: checkTurn(events, await parts.executed(), round) };
}

/** Checks a turn; returns how many of its calls are unknown. */
function checkTurn(
  events: readonly ShownEvent[],
  executed: readonly number[],
  round: Round,
): number {
  const told = JSON.stringify({
    round,
    events: events.map(({ kind, payload }) => [kind, payload]),
  });
  const of = (kind: string) => events.filter((event) => event.kind === kind);
  assert.deepEqual(of("turn_ended").map(({ payload }) => payload.outcome), ["completed"], told);
  assert.deepEqual(of("message").map(({ payload }) => payload.text), [
    `round ${round.n} is done`,
  ], told);
  const numbers = of("tool_call").map(({ payload }) => (payload.arguments as { n: number }).n);
  assert.deepEqual(numbers, Array.from({ length: CALLS }, (_, at) => round.n * 100 + at), told);
  let unknown = 0;
  for (const { payload } of of("tool_call")) {
    const { n } = payload.arguments as { readonly n: number };
    const results = of("tool_result").filter((each) => each.payload.call_id === payload.call_id);
    assert.equal(results.length, 1, `call ${n}: ${told}`);
    const count = executed.filter((each) => each === n).length;
    const { status, text } = results[0]!.payload;
    if (status === "completed") assert.deepEqual([text, count], [`done ${n}`, 1], told);
    else {
      assert.deepEqual([status, text], ["stopped", UNKNOWN_TEXT], `call ${n}: ${told}`);
      assert.ok(count <= 1, `call ${n} was made twice: ${told}`);
      unknown++;
    }
  }
  const notices = of("notice").filter(({ payload }) => /unknown whether/.test(`${payload.text}`));
  assert.equal(notices.length, unknown, told);
  return unknown;
}

async function prepare(root: string, model: FakeModel): Promise<void> {
  const home = pathsUnder(root).home("mia");
  const gate = pathsUnder(root).gate("bench");
  await Deno.mkdir(gate.slice(0, gate.lastIndexOf("/")), { recursive: true });
  const rules = { mcp: "bench", version: "1.0.0", rules: { approve: "ask" } };
  await Deno.writeTextFile(gate, JSON.stringify(rules));
  await writeClientConfig(home, {
    bench: {
      command: Deno.execPath(),
      args: [
        "run",
        "-q",
        "-A",
        "--no-check",
        `${Deno.cwd()}/units/mcp/main.ts`,
        "proxy",
        "bench",
        "--socket",
        `${root}/bench.sock`,
      ],
      env: { DENO_DIR: Deno.env.get("DENO_DIR") ?? "" },
    },
  });
  model.script(...Array.from({ length: ROUNDS * CALLS * 4 }, () => nextStep));
}

Deno.test(`${ROUNDS} kills in a turn with ten calls repeat no call`, async () => {
  const root = await Deno.makeTempDir({ prefix: "fc-" });
  const model = await startFakeModel();
  const parts = new Parts(root, [freePort(), freePort()], model.baseUrl);
  const random = seededRandom(Number(Deno.env.get("FLEETCTL_SEED") ?? 11));
  const stop = new AbortController();
  let approving: Promise<void> | undefined;
  try {
    await prepare(root, model);
    for (const part of ["server", "gateway", "dial"] as const) await parts.start(part);
    approving = approveAll(root, stop.signal);
    const times: number[] = [];
    let unknown = 0;
    for (let n = 1; n <= ROUNDS; n++) {
      const victim = VICTIMS[n % VICTIMS.length]!;
      const killMs = Math.floor(random.fraction() * 700);
      const played = await playRound(parts, { n, victim, killMs });
      times.push(played.goesOnMs);
      unknown += played.unknown;
    }
    const executed = await parts.executed();
    assert.equal(new Set(executed).size, executed.length, "a call was made twice");
    const slowest = Math.round(Math.max(...times));
    console.log(`slowest: ${slowest} ms after the kill; ${unknown} unknown of ${ROUNDS * CALLS}`);
  } finally {
    stop.abort();
    await approving;
    for (const part of ["dial", "gateway", "server"] as const) await parts.end(part);
    await model.close();
    await Deno.remove(root, { recursive: true });
  }
});
