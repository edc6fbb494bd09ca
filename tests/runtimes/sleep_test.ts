/**
 * Sleep with each real agent program: idle, it ends with all its processes, and the next turn
 * continues the conversation with its tools. A background task keeps it awake.
 *
 * @module
 */

import assert from "node:assert/strict";
import { systemClock } from "core/os/clock.ts";
import { systemRandom } from "core/os/random.ts";
import { superviseRuntime } from "units/dial/runtime.ts";
import type { RuntimeDriver } from "units/dial/runtimes/driver.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { sightOf } from "tests/support/model_sight.ts";
import { withProgram } from "tests/support/program_scene.ts";
import { fixtureServer } from "tests/support/runtime_process.ts";
import { shellCall, testPrograms, wantedPrograms } from "tests/support/runtime_programs.ts";
import { processesOf } from "tests/support/processes_of.ts";

/** Keeps the program as a dial unit does, with a short idle time. */
function sleeper(driver: RuntimeDriver) {
  const asleep: (() => void)[] = [];
  const log = recordingLog();
  const runtime = superviseRuntime({
    driver,
    clock: systemClock(),
    random: systemRandom(),
    log,
    onState: (state) => state === "asleep" && asleep.shift()?.(),
    onLeaving: () => {},
    idleMs: 200,
    isNeeded: () => false,
  });
  return {
    log,
    runtime,
    /** Resolves when the program next sleeps. */
    asleep: () => new Promise<void>((resolve) => asleep.push(resolve)),
    turn: (turnId: string, text: string) =>
      runtime.use(undefined, async (session) => {
        assert.ok(session.ok);
        return await session.value.prompt({ turnId, text }, () => Promise.resolve());
      }),
  };
}

for (const program of wantedPrograms()) {
  Deno.test(`${program.name} sleeps, and continues the conversation when it wakes`, async () => {
    await withProgram(program, async ({ model, home, driver, session }) => {
      await session.close(10_000);
      const { runtime, asleep, turn } = sleeper(driver);
      for (const word of ["kiwi", "plum", "pear"]) {
        model.script({ kind: "answer", text: `noted ${word}` });
        const sleeping = asleep();
        assert.deepEqual(await turn(word, `remember ${word}`), { outcome: "completed" });
        await sleeping;
        assert.deepEqual(await processesOf(home), []);
      }
      const last = model.requests.at(-1);
      assert.ok(last !== undefined);
      const { userTexts, tools } = sightOf(last);
      for (const word of ["kiwi", "plum", "pear"]) {
        const seen = userTexts.filter((text) => text.includes(`remember ${word}`));
        assert.equal(seen.length, 1, `${word}: ${userTexts.join("\n")}`);
      }
      assert.ok(tools.includes(program.toolName("fix", "echo")), tools.join(" "));
      await runtime.close(10_000);
    }, { mcps: { fix: fixtureServer() } });
  });
}

/** Ends the only command that runs. */
async function endCommand(home: string): Promise<void> {
  const found = (await processesOf(home)).filter((line) => / sleep 1001 ?$/.test(line));
  assert.equal(found.length, 1, found.join("\n"));
  Deno.kill(Number(found[0]?.split(" ")[0]), "SIGKILL");
}

const allow = { decidePermission: () => Promise.resolve({ decision: "allow" as const }) };

testPrograms(["claude-code"], "stays awake while its background task runs", async (program) => {
  await withProgram(program, async ({ model, home, driver, session }) => {
    await session.close(10_000);
    const { runtime, turn, asleep, log } = sleeper(driver);
    const { call } = shellCall(program, "sleep 1001");
    const background = { ...call, arguments: { ...call.arguments, run_in_background: true } };
    model.script({ kind: "answer", calls: [background] }, { kind: "answer", text: "it runs" });
    assert.deepEqual(await turn("one", "start it"), { outcome: "completed" });
    const { fields } = await log.next("runtime stays awake");
    assert.equal(fields.reason, "background tasks run: 1");
    // The program asks the model once more when the task has ended.
    model.script({ kind: "answer", text: "it has ended" });
    const sleeping = asleep();
    await endCommand(home);
    await sleeping;
    assert.deepEqual(await processesOf(home), []);
    await runtime.close(10_000);
  }, allow);
});

testPrograms(["claude-code", "pi"], "leaves running what it detached", async (program) => {
  await withProgram(program, async ({ model, home, driver, session }) => {
    await session.close(10_000);
    const { runtime, turn, asleep } = sleeper(driver);
    const { call } = shellCall(program, "sleep 1001 > /dev/null 2>&1 & echo started");
    model.script({ kind: "answer", calls: [call] }, { kind: "answer", text: "it runs" });
    const sleeping = asleep();
    assert.deepEqual(await turn("one", "start it"), { outcome: "completed" });
    await sleeping;
    await endCommand(home);
    await runtime.close(10_000);
  }, allow);
});
