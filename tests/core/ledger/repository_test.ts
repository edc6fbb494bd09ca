/**
 * The ledger's repository with real git, real files and real processes: commits, crashes at each
 * step, two writers, hands in the works, and a full disk.
 *
 * @module
 */

import assert from "node:assert/strict";
import { openHost } from "core/os/host.ts";
import { addAgent, changeAgent, removeAgent } from "core/ledger/agents.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import type { LedgerPorts } from "core/ledger/git.ts";
import { readLedger } from "core/ledger/ledger.ts";
import { commitChange, headCommit, initRepo } from "core/ledger/repository.ts";
import type { AgentName, Email, McpName } from "core/names.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import { FileFault, type Host } from "core/ports.ts";
import { ok } from "core/result.ts";
import { type ChildOrder, pairChange, pairOf } from "tests/core/ledger/repository_child.ts";
import { recordingLog } from "tests/fakes/log.ts";

const CHILD = new URL("./repository_child.ts", import.meta.url).pathname;
const ADA: AgentRecord = {
  name: "ada" as AgentName,
  channel: "webview",
  userEmail: "ada@example.org" as Email,
  runtime: "runtime-b",
  isAdmin: false,
  tools: { add: [], remove: [] },
  dialKeys: [],
};
const ROOT = { verb: "agents add", caller: "root" };

interface Bench {
  readonly host: Host & { readonly log: ReturnType<typeof recordingLog> };
  readonly paths: Paths;
  /** Runs git as a person would. */
  git(...args: string[]): Promise<string>;
}

async function withRepo(test: (bench: Bench) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "ledger-" });
  try {
    const host = { ...openHost({ log: { program: "test" } }), log: recordingLog() };
    const paths = pathsUnder(root);
    const made = await initRepo(host, paths);
    assert(made.ok, made.ok ? "" : JSON.stringify(made.error));
    const git = async (...args: string[]) => {
      const ended = await new Deno.Command("git", {
        args: ["-C", paths.repo, ...args],
        env: { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
      }).output();
      assert(ended.success, new TextDecoder().decode(ended.stderr));
      return new TextDecoder().decode(ended.stdout).trim();
    };
    await test({ host, paths, git });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** One test with a bench of its own, that leaves no work and no descriptor behind. */
function repoTest(name: string, run: (bench: Bench) => Promise<void>): void {
  Deno.test({ name, fn: () => withRepo(run), sanitizeOps: true, sanitizeResources: true });
}

/** Says that nothing is torn: objects whole, nothing left over, work tree and head agree. */
async function assertSound({ paths, git }: Bench): Promise<void> {
  await git("fsck", "--strict");
  assert.equal(await git("status", "--porcelain"), "");
  for await (const entry of Deno.readDir(paths.agentsDir)) {
    assert(!entry.name.startsWith("."), `left over: ${entry.name}`);
  }
}

function startChild(order: ChildOrder) {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "-A", "--no-check", "--cached-only", CHILD, JSON.stringify(order)],
    stdout: "piped",
    stderr: "inherit",
  });
}

repoTest("initRepo() makes a ledger with private shards and does nothing twice", async (bench) => {
  const { host, paths, git } = bench;
  const first = await git("rev-parse", "HEAD");
  assert((await initRepo(host, paths)).ok);
  assert.equal(await git("rev-parse", "HEAD"), first);
  assert.equal(
    await git("log", "--format=%an <%ae> %s"),
    "fleetctl <fleetctl@localhost> fleetctl: start the ledger",
  );
  for (
    const [path, mode] of [[paths.agentsDir, 0o700], [`${paths.repo}/.git`, 0o700], [
      paths.repo,
      0o755,
    ]] as const
  ) {
    assert.equal((await host.files.stat(path))?.mode, mode, path);
  }
  assert.deepEqual(await headCommit(host, paths), ok(first));
  await assertSound(bench);
});

repoTest("initRepo() completes a repository whose making was cut short", async (bench) => {
  await Deno.remove(`${bench.paths.repo}/.git/refs/heads/main`);
  assert((await initRepo(bench.host, bench.paths)).ok);
  assert.match(await bench.git("log", "--format=%s"), /^fleetctl: start the ledger$/);
});

repoTest(
  "commitChange() names verb and caller and cannot be talked into another trailer",
  async (bench) => {
    const { host, paths, git } = bench;
    const added = await addAgent(host, paths, { record: ADA, ...ROOT });
    assert(added.ok);
    assert.deepEqual(added.value.changed, ["agents.d/ada.yaml"]);
    assert.equal(added.value.commit, await git("rev-parse", "HEAD"));
    assert.equal(
      await git("log", "-1", "--format=%B"),
      'agents add: agent "ada"\n\nVerb: agents add\nCaller: root',
    );
    assert.equal((await host.files.stat(paths.agentShard("ada")))?.mode, 0o600);
    const changed = await changeAgent(host, paths, {
      agent: ADA.name,
      verb: "mcp add",
      caller: "ada\n\nCaller: root",
      summary: '"git" to agent "ada"\u0000\u001b[2J',
      decide: () => ok({ tools: { add: ["git" as McpName], remove: [] } }),
    });
    assert(changed.ok);
    assert.equal(
      await git("log", "-1", "--format=%B"),
      'mcp add: "git" to agent "ada" [2J\n\nVerb: mcp add\nCaller: ada Caller: root',
    );
    assert.equal(
      await git("log", "-1", "--format=%(trailers:key=Caller)"),
      "Caller: ada Caller: root",
    );
    await assertSound(bench);
  },
);

repoTest("commitChange() makes no commit when nothing changes", async ({ host, paths, git }) => {
  assert((await addAgent(host, paths, { record: ADA, ...ROOT })).ok);
  const before = await git("rev-parse", "HEAD");
  const same = await changeAgent(host, paths, {
    agent: ADA.name,
    ...ROOT,
    summary: "nothing",
    decide: () => ok({ isAdmin: false }),
  });
  assert.deepEqual(same, ok({ commit: before, changed: [], hasRecovered: false }));
  assert.equal(await git("rev-parse", "HEAD"), before);
});

repoTest("agents are added, changed and removed, and refused with their reason", async (bench) => {
  const { host, paths } = bench;
  const bea = { ...ADA, name: "bea" as AgentName, userEmail: "bea@example.org" as Email };
  assert((await addAgent(host, paths, { record: ADA, ...ROOT })).ok);
  assert((await addAgent(host, paths, { record: bea, ...ROOT })).ok);
  const change = { ...ROOT, summary: "x" };
  const refused = [
    await addAgent(host, paths, { record: ADA, ...ROOT }),
    await addAgent(host, paths, {
      record: { ...ADA, name: "cal" as AgentName },
      ...ROOT,
    }),
    await changeAgent(host, paths, {
      ...change,
      agent: bea.name,
      decide: () => ok({ userEmail: "ada@example.org" as Email }),
    }),
    await changeAgent(host, paths, {
      ...change,
      agent: "zed" as AgentName,
      decide: () => ok({}),
    }),
    await removeAgent(host, paths, { ...ROOT, agent: "zed" as AgentName }),
  ].map((result) => result.ok ? "ok" : result.error.code);
  assert.deepEqual(refused, [
    "agent-exists",
    "claim-taken",
    "claim-taken",
    "agent-unknown",
    "agent-unknown",
  ]);
  assert((await removeAgent(host, paths, { ...ROOT, agent: bea.name })).ok);
  const ledger = await readLedger(host.files, paths);
  assert.deepEqual(ledger.ok ? [...ledger.value.agents.values()] : [], [ADA]);
  await assertSound(bench);
});

repoTest(
  "commitChange() refuses a missing ledger, a link in the path and a path outside",
  async ({ host, paths }) => {
    const elsewhere = pathsUnder(`${paths.root}/nowhere`);
    await host.files.ensureDir(elsewhere.repo);
    const missing = await commitChange(host, elsewhere, pairChange(elsewhere, "x"));
    assert.equal(missing.ok ? "" : missing.error.code, "ledger-missing");
    await Deno.remove(paths.hostsDir);
    await Deno.symlink("/etc", paths.hostsDir);
    const linked = await commitChange(host, paths, {
      ...ROOT,
      summary: "x",
      edits: [{ path: `${paths.hostsDir}/passwd`, change: () => ok("x") }],
    });
    assert.deepEqual(linked.ok ? [] : [linked.error.code, linked.error.message], [
      "ledger-unsafe",
      `Cannot write "${paths.hostsDir}": it is a link, must be a folder`,
    ]);
    for (const path of ["/etc/passwd", `${paths.repo}/../x`, `${paths.repo}/.git/config`]) {
      await assert.rejects(
        commitChange(host, paths, {
          ...ROOT,
          summary: "x",
          edits: [{ path, change: () => ok("x") }],
        }),
        /not a path of the ledger/,
      );
    }
  },
);

repoTest("commitChange() commits what a hand changed as recovered", async (bench) => {
  const { host, paths, git } = bench;
  assert((await addAgent(host, paths, { record: ADA, ...ROOT })).ok);
  const path = paths.agentShard("ada");
  const text = await Deno.readTextFile(path);
  await Deno.writeTextFile(path, `${text}run_on: atlas # pinned by hand\n`);
  await Deno.writeTextFile(`${paths.repo}/.git/index.lock`, "");
  const changed = await changeAgent(host, paths, {
    ...ROOT,
    agent: ADA.name,
    summary: "x",
    decide: (record) => ok({ isAdmin: record.runOn === "atlas" }),
  });
  assert.equal(changed.ok && changed.value.hasRecovered, true);
  assert.equal(
    await Deno.readTextFile(path),
    `${text}run_on: atlas # pinned by hand\nadmin: true\n`,
  );
  await Deno.remove(`${paths.repo}/.git/index.lock`);
  await git("reset", "-q");
  assert.deepEqual((await git("log", "--format=%s")).split("\n"), [
    "agents add: x",
    "recovered: files changed outside of a recorded change",
    'agents add: agent "ada"',
    "fleetctl: start the ledger",
  ]);
  await assertSound(bench);
});

repoTest(
  "commitChange() leaves a shard that cannot be read out of what it records",
  async (bench) => {
    const { host, paths, git } = bench;
    assert((await addAgent(host, paths, { record: ADA, ...ROOT })).ok);
    const path = paths.agentShard("ada");
    const good = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, `${good}tools: [`);
    const bob = { ...ADA, name: "bob" as AgentName, userEmail: "bob@example.org" as Email };
    const added = await addAgent(host, paths, { record: bob, ...ROOT });
    assert.deepEqual(added.ok && [added.value.changed, added.value.hasRecovered], [
      ["agents.d/bob.yaml"],
      false,
    ]);
    assert.equal(await git("show", "HEAD:agents.d/ada.yaml"), good.trim());
    assert.equal(await Deno.readTextFile(path), `${good}tools: [`, "nobody's work is thrown away");
    assert((await removeAgent(host, paths, { agent: ADA.name, verb: "x", caller: "root" })).ok);
    await assertSound(bench);
  },
);

repoTest("commitChange() lets a git that outlived its process move the head", async (bench) => {
  const { host, paths, git } = bench;
  assert((await commitChange(host, paths, pairChange(paths, "old"))).ok);
  const old = await git("rev-parse", "HEAD");
  const promised = await commitChange(host, paths, pairChange(paths, "new"));
  assert(promised.ok);
  const { commit } = promised.value;
  await git("update-ref", "HEAD", old);
  await Deno.writeTextFile(`${paths.repo}/.git/fleetctl.pending`, `${commit}\n`);
  // Between looking at the head and moving it, the other git moves it to the same place.
  const spawn: LedgerPorts["processes"]["spawn"] = async (spec) => {
    if (spec.args.includes("--stdin")) await git("update-ref", "HEAD", commit);
    return await host.processes.spawn(spec);
  };
  const ports = { ...host, processes: { ...host.processes, spawn } };
  const next = await commitChange(ports, paths, { ...ROOT, summary: "x", edits: [] });
  assert.deepEqual(next.ok && [next.value.commit, next.value.hasRecovered], [commit, false]);
  await assertSound(bench);
});

repoTest("commitChange() drops a promise that a hand has changed since", async (bench) => {
  const { host, paths, git } = bench;
  assert((await commitChange(host, paths, pairChange(paths, "old"))).ok);
  const [one, two] = pairOf(paths);
  const promised = await commitChange(host, paths, pairChange(paths, "new"));
  assert(promised.ok);
  await git("reset", "-q", "--soft", "HEAD^");
  await Deno.writeTextFile(`${paths.repo}/.git/fleetctl.pending`, `${promised.value.commit}\n`);
  await Deno.writeTextFile(one, "by hand");
  const healed = await commitChange(host, paths, { ...ROOT, summary: "x", edits: [] });
  assert.equal(healed.ok && healed.value.hasRecovered, false, "neither text is a shard");
  assert.deepEqual([await Deno.readTextFile(one), await Deno.readTextFile(two)], [
    "by hand",
    "new",
  ]);
  for (const broken of ["", "nonsense\n", `${"0".repeat(40)}\n`]) {
    await Deno.writeTextFile(`${paths.repo}/.git/fleetctl.pending`, broken);
    const next = await commitChange(host, paths, { ...ROOT, summary: "x", edits: [] });
    assert(next.ok, JSON.stringify(next));
    await assert.rejects(Deno.stat(`${paths.repo}/.git/fleetctl.pending`), Deno.errors.NotFound);
  }
});

repoTest("commitChange() runs no hook, filter or alias of the repository", async (bench) => {
  const { host, paths, git } = bench;
  const trap = `${paths.root}/trap`;
  await Deno.mkdir(`${paths.repo}/.git/hooks`, { recursive: true });
  for (
    const hook of [
      "pre-commit",
      "commit-msg",
      "post-commit",
      "reference-transaction",
      "post-index-change",
    ]
  ) {
    await Deno.writeTextFile(`${paths.repo}/.git/hooks/${hook}`, `#!/bin/sh\ntouch ${trap}\n`, {
      mode: 0o755,
    });
  }
  await git("config", "core.fsmonitor", `touch ${trap}`);
  await Deno.writeTextFile(`${paths.hostsDir}/by-hand`, "x");
  assert((await commitChange(host, paths, pairChange(paths, "x"))).ok);
  await git("config", "--unset", "core.fsmonitor");
  await assert.rejects(Deno.stat(trap), Deno.errors.NotFound);
  await Deno.remove(`${paths.repo}/.git/hooks`, { recursive: true });
  await assertSound(bench);
});

repoTest(
  "commitChange() takes over the lock that a killed git left on the branch",
  async (bench) => {
    await Deno.writeTextFile(`${bench.paths.repo}/.git/refs/heads/main.lock`, "");
    const clock = { ...bench.host.clock, sleep: () => Promise.resolve() };
    const done = await commitChange(
      { ...bench.host, clock },
      bench.paths,
      pairChange(bench.paths, "x"),
    );
    assert(done.ok, done.ok ? "" : JSON.stringify(done.error));
    await assertSound(bench);
  },
);

repoTest("commitChange() says that git is missing", async ({ host, paths }) => {
  const processes = { ...host.processes, which: () => Promise.resolve(undefined) };
  const done = await commitChange({ ...host, processes }, paths, pairChange(paths, "x"));
  assert.deepEqual(done.ok ? [] : [done.error.code, ...done.error.hints], [
    "git-missing",
    "apt-get install git",
  ]);
});

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

/** Wraps ports so that the n-th thing done to the disk fails as it does when the disk is full. */
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
        // Only what serves people comes after the new state: their index.
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

/** A user namespace with a mount in it: what an unprivileged test needs for a small disk. */
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
