/**
 * Failures of the ledger's repository: two writers, a disk that fills up at each step, a killed
 * process, a full small file system.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { LedgerPorts } from "core/ledger/git.ts";
import { commitChange } from "core/ledger/repository.ts";
import { FileFault } from "core/ports/files.ts";
import { type ChildOrder, pairChange, pairOf } from "tests/core/ledger/repository_child.ts";
import { assertSound, repoTest, ROOT } from "tests/core/ledger/repository_bench.ts";

const CHILD = new URL("./repository_child.ts", import.meta.url).pathname;

function startChild(order: ChildOrder) {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "-A", "--no-check", "--cached-only", CHILD, JSON.stringify(order)],
    stdout: "piped",
    stderr: "inherit",
  });
}

repoTest("commitChange() of two processes never loses an update", async (bench) => {
  const { paths, git } = bench;
  const times = 12;
  const ended = await Promise.all(
    [1, 2].map(() => startChild({ work: "count", root: paths.root, times }).output()),
  );
  for (const { stdout } of ended) {
    const lines = new TextDecoder().decode(stdout).trim().split("\n").map((line) =>
      JSON.parse(line)
    );
    assert.equal(lines.filter((line) => line.ok === true).length, times);
  }
  assert.equal(await Deno.readTextFile(`${paths.hostsDir}/count`), `${2 * times}\n`);
  const subjects = (await git("log", "--format=%s")).split("\n");
  assert.equal(subjects.filter((line) => line === "count: one more").length, 2 * times);
  await assertSound(bench);
});

/** Wraps ports so that the n-th disk operation fails like on a full disk. */
function failingPorts(ports: LedgerPorts, step: number): LedgerPorts & { isReached(): boolean } {
  let done = 0;
  const isNow = () => ++done === step;
  const fault = (path: string) => new FileFault("ENOSPC", path, "no space left on the disk");
  const { files, processes } = ports;
  return {
    ...ports,
    isReached: () => done >= step,
    files: {
      ...files,
      write: async (path, data, options) => {
        if (isNow()) throw fault(path);
        await files.write(path, data, options);
      },
      lock: async (path, signal) => {
        if (isNow()) throw fault(path);
        return await files.lock(path, signal);
      },
    },
    processes: {
      ...processes,
      run: async (spec) => {
        if (!isNow()) return await processes.run(spec);
        const stderr = "fatal: unable to write: No space left on device\n";
        return {
          code: 128,
          signal: undefined,
          stdout: "",
          stderr,
          truncated: false,
          timedOut: false,
        };
      },
      spawn: async (spec) => {
        if (!isNow()) return await processes.spawn(spec);
        const script = "echo 'fatal: No space left on device' >&2; exit 128";
        return await processes.spawn({ command: "/bin/sh", args: ["-c", script], env: {} });
      },
    },
  };
}

repoTest(
  "commitChange() refuses once and keeps the old state wherever the disk fills up",
  async (bench) => {
    const { host, paths, git } = bench;
    assert((await commitChange(host, paths, pairChange(paths, "old"))).ok);
    let refusals = 0;
    for (let step = 1;; step++) {
      const head = await git("rev-parse", "HEAD");
      const ports = failingPorts(host, step);
      const done = await commitChange(ports, paths, pairChange(paths, `new ${step}`));
      const texts = await Promise.all(pairOf(paths).map((path) => Deno.readTextFile(path)));
      if (!ports.isReached()) {
        assert(done.ok);
        break;
      }
      if (done.ok) {
        // Only the update of the git index for people follows the new state.
        assert.deepEqual(texts, [`new ${step}`, `new ${step}`]);
        continue;
      }
      refusals++;
      assert.equal(done.error.code, "disk-full");
      assert.match(done.error.hints[0] ?? "", /^df -h \//);
      assert.deepEqual(texts, ["old", "old"], `step ${step}`);
      assert.equal(await git("rev-parse", "HEAD"), head);
      await assertSound(bench);
      assert((await commitChange(host, paths, pairChange(paths, "old"))).ok);
    }
    assert(refusals >= 8, `only ${refusals} steps were refused`);
  },
);

for (const how of ["before", "within"] as const) {
  repoTest(
    `commitChange() leaves the old or the new state when killed ${how} each step`,
    async (bench) => {
      const { host, paths, git } = bench;
      assert((await commitChange(host, paths, pairChange(paths, "old"))).ok);
      let kills = 0;
      for (let step = 1;; step++) {
        const order = { work: "die", root: paths.root, step, how, text: `new ${step}` } as const;
        const ended = await startChild(order).output();
        const acknowledged = new TextDecoder().decode(ended.stdout).includes('"ok":true');
        const texts = await Promise.all(pairOf(paths).map((path) => Deno.readTextFile(path)));
        for (const text of texts) assert(["old", `new ${step}`].includes(text), text);
        if (acknowledged) assert.deepEqual(texts, [`new ${step}`, `new ${step}`]);
        if (ended.signal === null) break;
        kills++;
        const healed = await commitChange(host, paths, { ...ROOT, summary: "x", edits: [] });
        assert(healed.ok && !healed.value.hasRecovered, JSON.stringify(healed));
        const whole = await Promise.all(pairOf(paths).map((path) => Deno.readTextFile(path)));
        assert.equal(whole[0], whole[1], `step ${step}: one file is new and the other old`);
        await assertSound(bench);
        const next = await commitChange(host, paths, pairChange(paths, "old"));
        assert(next.ok, next.ok ? "" : JSON.stringify(next.error));
        await assertSound(bench);
      }
      assert(kills >= 10, `only ${kills} steps were killed`);
      const subjects = (await git("log", "--format=%s")).split("\n");
      assert(subjects.every((line) => !line.startsWith("recovered:")), "its own commit, completed");
      assert(host.log.lines.some((line) => line.event === "ledger-completed"));
    },
  );
}

Deno.test({
  name: "commitChange() refuses and keeps the old state on a small file system that is full",
  ignore: !(await canMount()),
  fn: async () => {
    const root = await Deno.makeTempDir({ prefix: "ledger-full-" });
    try {
      const script = `mount -t tmpfs -o size=640k tmpfs "$1" && exec "$2" run -q -A --no-check ` +
        `--cached-only "$3" "$4"`;
      const order = JSON.stringify({ work: "fill", root } satisfies ChildOrder);
      const ended = await new Deno.Command("unshare", {
        args: [
          "--map-root-user",
          "--mount",
          "sh",
          "-c",
          script,
          "sh",
          root,
          Deno.execPath(),
          CHILD,
          order,
        ],
      }).output();
      const lines = new TextDecoder().decode(ended.stdout).trim().split("\n");
      const complaint = new TextDecoder().decode(ended.stderr);
      const [refused, after] = lines.slice(-2).map((line) => JSON.parse(line || "{}"));
      assert.equal(refused?.done?.error?.code, "disk-full", lines.at(-2) ?? complaint);
      assert.equal(after.isIntact, true);
      assert.equal(after.next.ok, true, lines.at(-1) ?? "");
      assert.equal(after.next.value.hasRecovered, false);
      assert(lines.length > 3, "some changes went well before");
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  },
});

/**
 * Whether the test can mount in a user namespace, which an unprivileged test needs for a small
 * disk.
 */
async function canMount(): Promise<boolean> {
  try {
    const script = "mount -t tmpfs -o size=64k tmpfs /tmp";
    const ended = await new Deno.Command("unshare", {
      args: ["--map-root-user", "--mount", "sh", "-c", script],
      stderr: "null",
    }).output();
    return ended.success;
  } catch {
    return false;
  }
}
