/**
 * Spend ceilings with each real agent program behind a dial unit: they are compared before each
 * turn, so that the program runs its turn to the end, and the next turn waits or is refused.
 *
 * @module
 */

import assert from "node:assert/strict";
import { runLocalTurn } from "cli/ask_turn.ts";
import { listApprovals, sendDecision } from "core/dial/ask_human.ts";
import { printHostCeilings } from "core/dial/host_ceilings.ts";
import type { CeilingView } from "core/dial/local_frames.ts";
import { openHost } from "core/os/host.ts";
import { pathsUnder } from "core/paths.ts";
import { recordingLog } from "tests/fakes/log.ts";
import type { ModelReply } from "tests/fakes/model_endpoint.ts";
import { startTestDial } from "tests/support/dial_fixture.ts";
import { type ProgramScene, withProgram } from "tests/support/program_scene.ts";
import { wantedPrograms } from "tests/support/runtime_programs.ts";

const SAFE = { sanitizeOps: false, sanitizeResources: false } as const;
/** Tokens of one model call; no program counts fewer of them than these. */
const DONE: ModelReply = {
  kind: "answer",
  text: "done",
  usage: { input: 900, output: 100, cachedRead: 0, cachedWrite: 0 },
};

/** Runs turns of the program behind a dial unit whose agent has this ceiling. */
async function withCeiling(
  { home, driver, session }: ProgramScene,
  ceiling: string,
  work: (turn: (onCard?: () => Promise<void>) => Promise<string>, at: LocalDial) => Promise<void>,
): Promise<void> {
  await session.close(10_000);
  const host = { ...openHost({ log: { program: "test", level: "error" } }), log: recordingLog() };
  const paths = pathsUnder(home);
  await Deno.mkdir(paths.agentCeilings, { recursive: true });
  await Deno.writeTextFile(paths.agentCeiling("mia"), ceiling);
  const env = { FLEETCTL_ROOT: home, CHANNEL_USER_EMAIL: "" };
  const unit = await startTestDial({ url: "ws://127.0.0.1:9", driver, host, env });
  const at = {
    socket: paths.dialSocket("mia"),
    connect: (path: string) => host.sockets.connectUnix(path),
    clock: host.clock,
  };
  try {
    await work((onCard) => endOf(at, onCard), at);
  } finally {
    await unit.close();
  }
}

type LocalDial = Parameters<typeof runLocalTurn>[0];

/** Runs a turn; returns its outcome, or the code of its failure. */
async function endOf(at: LocalDial, onCard = () => Promise.resolve()): Promise<string> {
  const ended = await runLocalTurn(at, { agent: "mia", text: "work", by: "root" }, {
    stop: new AbortController().signal,
    onUpdate: async (update) => {
      if (update.type === "turn_event" && update.kind === "approval_asked") await onCard();
    },
  });
  assert.ok(ended.ok, JSON.stringify(ended));
  const { outcome, code } = ended.value.end;
  return String(code ?? outcome);
}

/** A ceiling of the host that all agents together have reached. */
function reachedAt(now: number): CeilingView {
  return {
    period: "hour",
    unit: "tokens",
    ceiling: 1,
    limit: 1,
    spent: 2,
    is_minimum: false,
    level: "reached",
    owner_left: 0,
    unpriced: [],
    since: now - 1_000,
    until: now + 3_600_000,
  };
}

for (const program of wantedPrograms()) {
  Deno.test({
    name: `${program.name} ends its turn above the ceiling, and the next turn is refused`,
    ...SAFE,
    fn: () =>
      withProgram(program, async (scene) => {
        await withCeiling(scene, "day=1000-tokens", async (turn) => {
          scene.model.script(DONE);
          assert.equal(await turn(), "completed");
          const requests = scene.model.requests.length;
          assert.equal(await turn(), "ceiling-reached");
          assert.equal(scene.model.requests.length, requests);
        });
      }),
  });

  Deno.test({
    name: `${program.name} continues when its owner allows more on the card`,
    ...SAFE,
    fn: () =>
      withProgram(program, async (scene) => {
        await withCeiling(scene, "day=1000-tokens+9m-tokens", async (turn, at) => {
          scene.model.script(DONE, DONE);
          assert.equal(await turn(), "completed");
          const allow = async () => {
            const listed = await listApprovals(at);
            const card = listed.ok ? listed.value[0] : undefined;
            assert.ok(card !== undefined && card.tool === "spend_more");
            const { id, digest } = card;
            const decision = { id, digest, decision: "approved", by: "the operator" } as const;
            assert.ok((await sendDecision(at, decision)).ok);
          };
          assert.equal(await turn(allow), "completed");
        });
      }),
  });

  Deno.test({
    name: `${program.name} is refused a turn at the ceiling of the host`,
    ...SAFE,
    fn: () =>
      withProgram(program, async (scene) => {
        await withCeiling(scene, "day=9m-tokens", async (turn) => {
          const { hostCeilings, state } = pathsUnder(scene.home);
          await Deno.mkdir(state, { recursive: true });
          const now = Date.now();
          const sums = { summed_at: now, ceilings: [reachedAt(now)] };
          await Deno.writeTextFile(hostCeilings, printHostCeilings(sums));
          assert.equal(await turn(), "host-ceiling-reached");
          assert.equal(scene.model.requests.length, 0);
          await Deno.remove(hostCeilings);
          scene.model.script(DONE);
          assert.equal(await turn(), "completed");
        });
      }),
  });
}
