/**
 * Properties that need real processes: the exact environment, groups, and back-pressure.
 *
 * @module
 */

import assert from "node:assert/strict";
import { FileFault } from "core/ports/files.ts";
import { systemProcesses } from "core/os/processes.ts";

const processes = systemProcesses();
const PATH = "/usr/bin:/bin";

async function readLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  const reader = stream.getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { done, value } = await reader.read();
    if (done) break;
    text += new TextDecoder().decode(value);
  }
  reader.releaseLock();
  return text.trim();
}

function isAlive(pid: number): boolean {
  try {
    // A dead child that was not waited for is a zombie (state Z) and does not run.
    return !/^State:\s+Z/m.test(Deno.readTextFileSync(`/proc/${pid}/status`));
  } catch {
    return false;
  }
}

Deno.test("run() passes exactly the given environment", async () => {
  Deno.env.set("FLEETCTL_TEST_LEAK", "1");
  try {
    const { stdout } = await processes.run({
      command: "/usr/bin/env",
      args: [],
      env: { ONLY: "this one" },
    });
    assert.equal(stdout, "ONLY=this one\n");
  } finally {
    Deno.env.delete("FLEETCTL_TEST_LEAK");
  }
});

Deno.test("run() names the folder when it is the folder that is missing", async () => {
  await assert.rejects(
    processes.run({ command: "/bin/true", args: [], env: {}, cwd: "/none/such" }),
    (thrown: unknown) =>
      thrown instanceof FileFault && thrown.code === "ENOENT" && thrown.path === "/none/such",
  );
});

Deno.test("run() reports EACCES for a file that is not executable", async () => {
  const path = await Deno.makeTempFile();
  try {
    await assert.rejects(
      processes.run({ command: path, args: [], env: {} }),
      (thrown: unknown) => thrown instanceof FileFault && thrown.code === "EACCES",
    );
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("run() ends the grandchildren of a program that exceeds its timeout", async () => {
  const { timedOut, stdout } = await processes.run({
    command: "/bin/sh",
    args: ["-c", "sleep 600 & echo $!; wait"],
    env: { PATH },
    timeoutMs: 300,
  });
  assert.equal(timedOut, true);
  assert.equal(isAlive(Number(stdout.trim())), false);
});

Deno.test("run() kills grandchildren that ignore SIGTERM, although the program ended", async () => {
  const { signal, stdout } = await processes.run({
    command: "/bin/sh",
    args: ["-c", "(trap '' TERM; exec sleep 600) & echo $!; wait"],
    env: { PATH },
    timeoutMs: 300,
  });
  assert.equal(signal, "SIGTERM");
  const grandchild = Number(stdout.trim());
  // The kernel reports it dead shortly after the signal.
  while (isAlive(grandchild)) await new Promise((resolve) => setTimeout(resolve));
});

Deno.test("run() kills a program that ignores SIGTERM", async () => {
  const { signal, timedOut } = await processes.run({
    command: "/bin/sh",
    args: ["-c", "trap '' TERM; while :; do sleep 0.05; done"],
    env: { PATH },
    timeoutMs: 50,
  });
  assert.deepEqual([signal, timedOut], ["SIGKILL", true]);
});

Deno.test("run() returns although a grandchild keeps the pipes open", async () => {
  const { stdout, code } = await processes.run({
    command: "/bin/sh",
    args: ["-c", "setsid sleep 600 & echo $!"],
    env: { PATH },
  });
  assert.equal(code, 0);
  Deno.kill(Number(stdout.trim()), "SIGKILL");
});

Deno.test("spawn() starts a separate process group, and a signal reaches all of it", async () => {
  const child = await processes.spawn({
    command: "/bin/sh",
    args: ["-c", "sleep 600 & echo $!; wait"],
    env: { PATH },
    group: true,
  });
  const grandchild = Number(await readLine(child.stdout));
  assert.equal(isAlive(grandchild), true);
  child.kill("SIGKILL");
  await child.exited;
  // The pipe ends when its last holder, the grandchild, has exited.
  assert.equal(await readLine(child.stdout), "");
  // A process closes its files shortly before the kernel reports it dead.
  while (isAlive(grandchild)) await new Promise((resolve) => setTimeout(resolve));
  await Promise.all([child.stdin.abort(), child.stdout.cancel(), child.stderr.cancel()]);
});

Deno.test("spawn() blocks a child while its output is not read", async () => {
  const child = await processes.spawn({
    command: "/bin/sh",
    args: ["-c", "head -c 50000000 /dev/zero; echo done >&2"],
    env: { PATH },
  });
  const reader = child.stdout.getReader();
  let bytes = (await reader.read()).value?.length ?? 0;
  const done = readLine(child.stderr);
  assert.equal(await Promise.race([done, Promise.resolve("waiting")]), "waiting");
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    bytes += chunk.value.length;
  }
  assert.equal(bytes, 50_000_000);
  assert.equal(await done, "done");
  await child.stdin.abort();
  await child.stderr.cancel();
  await child.exited;
});

Deno.test("spawn() rejects a write to an ended child, without any other effect", async () => {
  const child = await processes.spawn({ command: "/bin/true", args: [], env: {} });
  await child.exited;
  const writer = child.stdin.getWriter();
  await assert.rejects(writer.write(new Uint8Array(1_000_000)));
  await Promise.all([child.stdout.cancel(), child.stderr.cancel()]);
});

Deno.test("which() finds the first name on the PATH as an absolute path", async () => {
  const folder = await Deno.makeTempDir();
  const before = Deno.env.get("PATH") ?? "";
  try {
    await Deno.writeTextFile(`${folder}/plain`, "", { mode: 0o644 });
    await Deno.writeTextFile(`${folder}/runs`, "", { mode: 0o755 });
    Deno.env.set("PATH", `relative:${folder}`);
    assert.equal(await processes.which("absent", "plain", "runs"), `${folder}/runs`);
    assert.equal(await processes.which("absent", "../runs", ""), undefined);
  } finally {
    Deno.env.set("PATH", before);
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("family() lists what a child left running, in its group or elsewhere", async () => {
  const script = "sleep 1001 & setsid sleep 1002 & (sleep 1003 &) ; echo started; read line";
  const child = await processes.spawn({
    command: "/bin/sh",
    args: ["-c", script],
    env: { PATH },
    group: true,
  });
  assert.equal(await readLine(child.stdout), "started");
  const sleeping = () =>
    (child.family() ?? []).map(({ args }) => args.join(" "))
      .filter((line) => line.startsWith("sleep")).sort();
  // `setsid` has not yet become `sleep` at once.
  while (sleeping().length < 3) await new Promise((done) => setTimeout(done, 1));
  assert.deepEqual(sleeping(), ["sleep 1001", "sleep 1002", "sleep 1003"]);
  const other = child.family()?.find(({ args }) => args[1] === "1002");
  assert.ok(other !== undefined);
  Deno.kill(other.pid, "SIGKILL");
  child.kill("SIGKILL");
  await child.exited;
  await Promise.all([child.stdin.abort(), child.stdout.cancel(), child.stderr.cancel()]);
  while (sleeping().length > 0) await new Promise((done) => setTimeout(done, 1));
});
