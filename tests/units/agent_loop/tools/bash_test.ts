/**
 * The tool `bash` with real processes: exit codes, limits, groups, environment.
 *
 * @module
 */

import assert from "node:assert/strict";
import { systemClock } from "core/os/clock.ts";
import { systemProcesses } from "core/os/processes.ts";
import { bashTool } from "units/agent_loop/tools/bash.ts";

const never = new AbortController().signal;
const tool = bashTool(
  { cwd: "/tmp", home: "/tmp" },
  { PATH: "/usr/bin:/bin", GIVEN: "yes" },
  { processes: systemProcesses(), clock: systemClock() },
);

Deno.test("bash returns output of both streams and the exit code", async () => {
  assert.deepEqual(await tool.run({ command: "echo out; pwd" }, never), {
    status: "completed",
    text: "out\n/tmp\n",
  });
  const outcome = await tool.run({ command: "echo bad >&2; exit 3" }, never);
  assert.deepEqual(outcome, { status: "failed", text: "bad\n[exit code 3]" });
  assert.deepEqual(await tool.run({ command: "true" }, never), { status: "completed", text: "" });
});

Deno.test("bash has exactly the given environment and no input", async () => {
  const { text } = await tool.run({ command: 'echo "$GIVEN:$HOME:"; cat' }, never);
  assert.equal(text, "yes::\n");
});

Deno.test("bash runs in the requested folder, and reports an absent one", async () => {
  assert.equal((await tool.run({ command: "pwd", cwd: "/usr" }, never)).text, "/usr\n");
  const outcome = await tool.run({ command: "pwd", cwd: "/none/such" }, never);
  assert.equal(outcome.status, "failed");
  assert.match(outcome.text, /\/none\/such/);
});

Deno.test("bash ends a command at its time limit, and returns its output", async () => {
  const command = "echo begun; sleep 1000";
  const outcome = await tool.run({ command, timeout_seconds: 0.3 }, never);
  assert.deepEqual(outcome, {
    status: "failed",
    text: "begun\n[ended after 0.3 s, the time limit]",
  });
});

Deno.test("bash kills a command that ignores SIGTERM", async () => {
  const abort = new AbortController();
  const home = await Deno.makeTempDir();
  try {
    await new Deno.Command("mkfifo", { args: [`${home}/up`] }).output();
    const up = Deno.open(`${home}/up`);
    const running = tool.run({
      command: `trap '' TERM; exec 9>${home}/up; while :; do sleep 1000; done`,
    }, abort.signal);
    const file = await up;
    abort.abort();
    assert.deepEqual(await running, { status: "stopped", text: "[cancelled]" });
    assert.equal(await new Response(file.readable).text(), "");
  } finally {
    await Deno.remove(home, { recursive: true });
  }
});

Deno.test("bash ends what a command left in the background", async () => {
  const home = await Deno.makeTempDir();
  try {
    await new Deno.Command("mkfifo", { args: [`${home}/up`] }).output();
    const up = Deno.open(`${home}/up`);
    const command = `exec 9>${home}/up; sleep 1000 & echo started`;
    assert.equal((await tool.run({ command }, never)).text, "started\n");
    assert.equal(await new Response((await up).readable).text(), "");
  } finally {
    await Deno.remove(home, { recursive: true });
  }
});

Deno.test("bash refuses arguments it does not know and does not start when cancelled", async () => {
  for (
    const input of [{}, { command: "" }, { command: 1 }, null, {
      command: "x",
      timeout_seconds: 1e9,
    }]
  ) {
    const outcome = await tool.run(input, never);
    assert.equal(outcome.status, "failed");
    assert.match(outcome.text, /^The arguments are unusable/);
  }
  const outcome = await tool.run({ command: "echo x" }, AbortSignal.abort());
  assert.equal(outcome.status, "stopped");
});
