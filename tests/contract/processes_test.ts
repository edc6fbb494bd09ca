/**
 * One suite for `Processes`, run against real programs and the fake. The same small programs exist
 * as shell scripts and as functions.
 *
 * @module
 */

import assert from "node:assert/strict";
import { FileFault } from "core/ports/files.ts";
import type { Processes, ProcessSpec } from "core/ports/processes.ts";
import { systemProcesses } from "core/os/processes.ts";
import { fakeProcesses, type FakeProgram } from "tests/fakes/processes.ts";

const SCRIPTS = {
  greet: 'echo "hello $NAME"; echo "warned" >&2; exit 3',
  echo: "cat",
  args: 'printf "%s\\n" "$@"',
  hang: "exec sleep 600",
  flood: "exec yes",
  deaf: "exit 0",
} as const;

type Program = keyof typeof SCRIPTS;

const FAKES: Readonly<Record<Program, FakeProgram>> = {
  greet: async (call) => {
    await call.print(`hello ${call.env["NAME"]}\n`);
    await call.warn("warned\n");
    return 3;
  },
  echo: async (call) => await call.print(await call.input()),
  args: async (call) => await call.print(call.args.map((word) => `${word}\n`).join("")),
  hang: () => new Promise(() => {}),
  flood: async (call) => {
    while (!call.killed.aborted) await call.print("y\n".repeat(4_096));
  },
  deaf: () => 0,
};

interface Subject {
  readonly name: string;
  readonly processes: Processes;
  spec(program: Program, args?: readonly string[]): ProcessSpec;
}

const ENV = { NAME: "Ada", PATH: "/usr/bin:/bin" };

const SUBJECTS: readonly Subject[] = [
  {
    name: "systemProcesses",
    processes: systemProcesses(),
    spec: (program, args = []) => ({
      command: "/bin/sh",
      args: ["-c", SCRIPTS[program], program, ...args],
      env: ENV,
    }),
  },
  {
    name: "fakeProcesses",
    processes: fakeProcesses(FAKES),
    spec: (program, args = []) => ({ command: program, args, env: ENV }),
  },
];

function contract(name: string, run: (subject: Subject) => Promise<void>): void {
  for (const subject of SUBJECTS) {
    Deno.test({
      name: `${subject.name}() ${name}`,
      sanitizeOps: true,
      sanitizeResources: true,
      fn: () => run(subject),
    });
  }
}

contract("tells exit code and both outputs", async ({ processes, spec }) => {
  assert.deepEqual(await processes.run(spec("greet")), {
    code: 3,
    signal: undefined,
    stdout: "hello Ada\n",
    stderr: "warned\n",
    truncated: false,
    timedOut: false,
  });
});

contract("hands arguments over as they are", async ({ processes, spec }) => {
  const args = ["", "two words", "$HOME", "`id`", "-x", 'quo"te', "new\nline"];
  const { stdout } = await processes.run(spec("args", args));
  assert.equal(stdout, args.map((word) => `${word}\n`).join(""));
});

contract("feeds input of any size and closes it", async ({ processes, spec }) => {
  const input = "0123456789abcdef".repeat(40_000);
  const { stdout, code } = await processes.run({ ...spec("echo"), input });
  assert.equal(code, 0);
  assert.equal(stdout, input);
});

contract("does not mind a program that leaves its input unread", async ({ processes, spec }) => {
  const { code } = await processes.run({ ...spec("deaf"), input: "x".repeat(1_000_000) });
  assert.equal(code, 0);
});

contract("ends a program that takes too long", async ({ processes, spec }) => {
  const { timedOut, signal, code } = await processes.run({ ...spec("hang"), timeoutMs: 20 });
  assert.equal(timedOut, true);
  assert.equal(signal, "SIGTERM");
  assert.equal(code, undefined);
});

contract("ends a program when the signal fires", async ({ processes, spec }) => {
  const abort = new AbortController();
  const running = processes.run({ ...spec("hang"), signal: abort.signal });
  abort.abort();
  assert.equal((await running).signal, "SIGTERM");
  const late = await processes.run({ ...spec("hang"), signal: AbortSignal.abort() });
  assert.equal(late.signal, "SIGTERM");
});

contract("bounds the output and says so", async ({ processes, spec }) => {
  const { stdout, truncated, signal } = await processes.run({
    ...spec("flood"),
    outputBytesMax: 10_000,
  });
  assert.equal(truncated, true);
  assert.equal(signal, "SIGKILL");
  assert.equal(stdout.length, 10_000);
});

contract("rejects with code and name when there is no such program", async ({ processes }) => {
  const spec = { command: "/none/such", args: [], env: {} };
  for (const work of [processes.run(spec), processes.spawn(spec)]) {
    await assert.rejects(
      work,
      (thrown: unknown) =>
        thrown instanceof FileFault && thrown.code === "ENOENT" && thrown.path === "/none/such" &&
        thrown.message === 'Cannot start "/none/such": no such program',
    );
  }
});

contract("streams both ways with a running child", async ({ processes, spec }) => {
  const child = await processes.spawn(spec("echo"));
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode("over and back"));
  await writer.close();
  assert.equal(
    await new Response(child.stdout as ReadableStream<Uint8Array<ArrayBuffer>>).text(),
    "over and back",
  );
  await child.stderr.cancel();
  assert.deepEqual(await child.exited, { code: 0, signal: undefined });
  child.kill("SIGTERM");
});

contract("ends a running child by a signal", async ({ processes, spec }) => {
  const child = await processes.spawn({ ...spec("hang"), group: true });
  child.kill("SIGKILL");
  assert.deepEqual(await child.exited, { code: undefined, signal: "SIGKILL" });
  child.kill("SIGKILL");
  await Promise.all([child.stdin.abort(), child.stdout.cancel(), child.stderr.cancel()]);
});
