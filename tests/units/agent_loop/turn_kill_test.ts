/**
 * `kill -9` of runtime, dial unit or gateway at a random moment of a turn with ten calls, two of
 * which need approval. A person approves them, or denies one. The turn continues: no call is made
 * twice and no denied one at all (counted at the MCP server), each call has one result, and an
 * unknown outcome is named. `FLEETCTL_ROUNDS` sets the number of rounds.
 *
 * @module
 */

import assert from "node:assert/strict";
import { listApprovals, sendDecision } from "core/dial/ask_human.ts";
import { systemClock } from "core/os/clock.ts";
import { connectUnix } from "core/os/connect_unix.ts";
import { pathsUnder } from "core/paths.ts";
import { startFakeModel } from "tests/fakes/model_endpoint.ts";
import { seededRandom } from "tests/fakes/random.ts";
import { cockpitReader } from "tests/support/cockpit_reader.ts";
import { freePort } from "tests/support/free_port.ts";
import { CALLS, checkTurn, DENIAL, messageOf, tenCalls } from "tests/support/ten_calls.ts";
import { BENCH_TOOLS, prepareBench, TurnParts } from "tests/support/turn_parts.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? 20);
const VICTIMS = ["runtime", "dial", "gateway"] as const;
const WAIT_MS = 60_000;

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

/** Whether the person denies a call: the second one that asks, in every second turn. */
const isDenied = (n: number) => n % 200 === 107;

/** Decides about whatever is asked, until `stop` aborts. */
async function decideAll(root: string, stop: AbortSignal): Promise<void> {
  const socket = pathsUnder(root).dialSocket("mia");
  const target = { socket, connect: connectUnix, clock: systemClock() };
  while (!stop.aborted) {
    const listed = await listApprovals(target);
    for (const { id, digest, state, arguments: { n } } of listed.ok ? listed.value : []) {
      if (state !== "asked") continue;
      const decision = isDenied(Number(n))
        ? { decision: "denied", reason: DENIAL } as const
        : { decision: "approved" } as const;
      await sendDecision(target, { id, digest, by: "the operator", ...decision });
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
async function playRound(parts: TurnParts, round: Round) {
  const cockpit = cockpitReader(() => parts.cockpitUrl);
  const turnId = await until("answer of the gateway", () => cockpit.post(messageOf(round.n)));
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
  const of = { round: round.n, tools: BENCH_TOOLS, denied: isDenied, about: round };
  return { goesOnMs, unknown: checkTurn(events, await parts.executed(), of).length };
}

Deno.test(`${ROUNDS} kills in a turn with ten calls repeat no call`, async () => {
  const root = await Deno.makeTempDir({ prefix: "fc-" });
  const model = await startFakeModel();
  const parts = new TurnParts(root, [freePort(), freePort()], model.baseUrl);
  const random = seededRandom(Number(Deno.env.get("FLEETCTL_SEED") ?? 11));
  const stop = new AbortController();
  let deciding: Promise<void> | undefined;
  try {
    await prepareBench(root);
    model.script(...Array.from({ length: ROUNDS * CALLS * 4 }, () => tenCalls(BENCH_TOOLS)));
    for (const part of ["server", "gateway", "dial"] as const) await parts.start(part);
    deciding = decideAll(root, stop.signal);
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
    await deciding;
    for (const part of ["dial", "gateway", "server"] as const) await parts.end(part);
    await model.close();
    await Deno.remove(root, { recursive: true });
  }
});
