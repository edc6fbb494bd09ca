/**
 * Real programs that misbehave, behind the drivers: missing, too old, in need of a terminal,
 * replaced while they run, gone while a child stays, or noisy. The reason reaches the person, and
 * the next start is not affected.
 *
 * @module
 */

import assert from "node:assert/strict";
import { systemClock } from "core/os/clock.ts";
import { denoFiles } from "core/os/files.ts";
import { systemProcesses } from "core/os/processes.ts";
import { systemRandom } from "core/os/random.ts";
import { pathsUnder } from "core/paths.ts";
import type { WireProtocol } from "core/runtimes/definition.ts";
import { createDriver } from "units/dial/runtimes/create_driver.ts";
import type { RuntimeDriver, TurnOutcome } from "units/dial/runtimes/driver.ts";
import { STDERR_LOGGED_MAX } from "units/dial/runtimes/stderr_log.ts";
import { type RecordingLog, recordingLog } from "tests/fakes/log.ts";

const PROTOCOLS: readonly WireProtocol[] = ["acp", "stream_json", "rpc_jsonl", "codex_app_server"];

interface Scene {
  readonly folder: string;
  readonly program: string;
  readonly log: RecordingLog;
  readonly driver: RuntimeDriver;
}

/** Runs `work` with a driver whose program is a shell script; without one there is no file. */
async function withScript(
  script: string | undefined,
  work: (scene: Scene) => Promise<void>,
  { protocol = "rpc_jsonl", home }: { protocol?: WireProtocol; home?: string } = {},
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "fleetctl-faulty-" });
  const program = `${folder}/program`;
  if (script !== undefined) await writeScript(program, script);
  const log = recordingLog();
  const driver = createDriver({
    name: "runtime-x",
    summary: "",
    command: program,
    args: ["--mode", "x"],
    protocol,
    clientConfig: { path: `${folder}/x.json`, shape: "runtime-a" },
    login: "none",
    env: {},
    state: [],
  }, {
    processes: systemProcesses(),
    files: denoFiles(),
    clock: systemClock(),
    random: systemRandom(),
    log,
  }, {
    agent: "ada",
    home: home ?? folder,
    paths: pathsUnder(folder),
    stateDir: `${folder}/dial`,
    env: { PATH: "/usr/bin:/bin" },
  });
  try {
    await work({ folder, program, log, driver });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Replaces the program's file, as an update does. */
async function writeScript(path: string, script: string): Promise<void> {
  await Deno.writeTextFile(`${path}.new`, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  await Deno.rename(`${path}.new`, path);
}

const SETTLED = `echo '{"type":"agent_settled"}'`;

/** A script that speaks `rpc_jsonl` and does `turn` on each prompt. */
function speaking(turn: string): string {
  return `while read -r line; do
  id=$(printf %s "$line" | sed 's/.*"id":"\\([^"]*\\)".*/\\1/')
  printf '{"id":"%s","type":"response","success":true,"data":{"sessionFile":"/s"}}\\n' "$id"
  case "$line" in *'"prompt"'*)
${turn}
  ;; esac
done`;
}

/** A turn that says a text. */
function saying(text: string): string {
  const update = { type: "text_delta", contentIndex: 0, delta: text };
  const said = { type: "message_update", assistantMessageEvent: update };
  return `echo '{"type":"agent_start"}'; echo '${JSON.stringify(said)}'; ${SETTLED}`;
}

/** Runs one turn in a new process; returns its outcome and its text. */
async function runTurn(
  driver: RuntimeDriver,
  during: () => Promise<void> = () => Promise.resolve(),
): Promise<{ readonly outcome: TurnOutcome; readonly text: string }> {
  const session = await driver.start();
  let text = "";
  await during();
  const outcome = await session.prompt({ turnId: "t", text: "go" }, (update) => {
    if (update.kind === "message") text += update.text;
    return Promise.resolve();
  });
  await session.close(10_000);
  return { outcome, text };
}

for (const protocol of PROTOCOLS) {
  const rejects = (script: string | undefined, wanted: RegExp, more: { home?: string } = {}) =>
    withScript(script, async ({ driver }) => {
      await assert.rejects(driver.start(), (error: Error) => {
        assert.match(error.message, /^Cannot start runtime "runtime-x": /);
        assert.match(error.message, wanted);
        return true;
      });
    }, { protocol, ...more });

  Deno.test(`${protocol}: a program that is missing or not executable is named`, async () => {
    await rejects(undefined, /fleetctl-faulty-.*\/program".*/);
    await withScript("exit 0", async ({ program, driver }) => {
      await Deno.chmod(program, 0o644);
      await assert.rejects(driver.start(), /Cannot start runtime "runtime-x": ".*\/program"/);
    }, { protocol });
  });

  Deno.test(`${protocol}: the error of a program that refuses an argument is quoted`, async () => {
    await rejects(
      `echo "usage: program [-h]" >&2; echo "error: unknown option '$1'" >&2; exit 2`,
      /exit code 2; last lines: "usage: program \[-h\]" "error: unknown option '--mode'"/,
    );
  });

  Deno.test(`${protocol}: a program that wants a terminal gets none, and ends`, async () => {
    await rejects(`[ -t 0 ] || { echo "stdin is not a TTY" >&2; exit 1; }; cat`, /is not a TTY"/);
    await rejects(`read -r answer < /dev/tty || exit 6; cat`, /exit code \d+; .*\/dev\/tty/);
  });

  Deno.test(`${protocol}: the error of a program without a writable home is quoted`, async () => {
    const home = "/proc/self";
    await rejects(`: > "$HOME/state" || exit 3; cat`, /exit code \d+; .*\/proc\/self\/state/, {
      home,
    });
  });
}

Deno.test("a running program continues when its file is replaced", async () => {
  await withScript(speaking(saying("one")), async ({ program, driver }) => {
    const first = await runTurn(driver, () => writeScript(program, speaking(saying("two"))));
    assert.deepEqual(first, { outcome: { outcome: "completed" }, text: "one" });
    assert.equal((await runTurn(driver)).text, "two");
    // An update that is interrupted leaves no file. The next one works without a restart.
    await Deno.remove(program);
    await assert.rejects(driver.start(), /Cannot start runtime "runtime-x"/);
    await writeScript(program, speaking(saying("three")));
    assert.equal((await runTurn(driver)).text, "three");
  });
});

Deno.test("when a program ends, its child that keeps the output open is ended, too", async () => {
  const script = speaking(`exec 3> "$HOME/alive"; sleep 1000 & exit 0`);
  await withScript(script, async ({ folder, driver }) => {
    const { success } = await new Deno.Command("mkfifo", { args: [`${folder}/alive`] }).output();
    assert.ok(success);
    // Ends when the last process that has it open for writing has ended.
    const childEnded = Deno.readTextFile(`${folder}/alive`);
    const { outcome } = await runTurn(driver);
    assert.equal(outcome.outcome, "interrupted");
    assert.match(outcome.reason ?? "", /the runtime ended with exit code 0/);
    assert.equal(await childEnded, "");
  });
});

Deno.test("a gigabyte on stderr is read to its end, and little of it is kept", async () => {
  const flood = `head -c 1073741824 /dev/zero | tr '\\0' x >&2; ${saying("done")}`;
  await withScript(speaking(flood), async ({ driver, log }) => {
    const { outcome, text } = await runTurn(driver);
    assert.deepEqual([outcome, text], [{ outcome: "completed" }, "done"]);
    await log.next("runtime stderr not logged");
    const lines = log.of("runtime").map(({ fields }) => String(fields.line).length);
    const kept = lines.reduce((sum, each) => sum + each, 0);
    // The clock may begin a new window while the program writes.
    assert.ok(kept > 0 && kept <= 16 * STDERR_LOGGED_MAX, String(kept));
    const skipped = log.of("runtime stderr not logged")
      .reduce((sum, { fields }) => sum + Number(fields.characters), 0);
    assert.equal(kept + skipped, 1024 ** 3);
  });
});
