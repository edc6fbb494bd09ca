/**
 * A test run that is killed leaves no booted host, mount or control group behind.
 *
 * @module
 */

import assert from "node:assert/strict";
import { poll } from "tests/support/booted_host.ts";

async function linesOf(command: string, ...args: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await new Deno.Command(command, { args: [...args] }).output();
  return new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "");
}

/** Returns the processes whose arguments name the machine. */
function processesOf(machine: string): Promise<readonly string[]> {
  return linesOf("pgrep", "-a", "-f", "--", `-M ${machine} `);
}

function groupsOf(machine: string): Promise<readonly string[]> {
  return linesOf("find", "/sys/fs/cgroup", "-maxdepth", "2", "-name", machine);
}

Deno.test("a booted host ends when its test run is killed", async () => {
  const run = new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "-A", "--no-check", "tests/support/boot_child.ts"],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const lines = run.stdout.pipeThrough(new TextDecoderStream());
  let text = "";
  for await (const part of lines) {
    text += part;
    if (text.includes("\n")) break;
  }
  const { machine, root } = JSON.parse(text) as { readonly machine: string; readonly root: string };
  assert.equal((await processesOf(machine)).length, 1);
  run.kill("SIGKILL");
  await run.status;
  const folder = root.slice(0, root.lastIndexOf("/"));
  await poll("end of the host", async () => {
    const left = [...await processesOf(machine), ...await groupsOf(machine)];
    const isGone = !await Deno.stat(folder).then(() => true, () => false);
    return isGone && left.length === 0 ? true : undefined;
  });
  assert.ok(!(await Deno.readTextFile("/proc/self/mounts")).includes(folder));
});
