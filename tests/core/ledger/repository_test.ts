/**
 * The ledger's repository with real git and real files: commits, manual edits, and what a
 * repository may contain. Crashes and full disks are in `repository_faults_test.ts`.
 *
 * @module
 */

import assert from "node:assert/strict";
import { addAgent, changeAgent, removeAgent } from "core/ledger/agents.ts";
import type { LedgerPorts } from "core/ledger/git.ts";
import { readLedger } from "core/ledger/ledger.ts";
import { commitChange, initRepo } from "core/ledger/repository.ts";
import type { AgentName, Email, McpName } from "core/names.ts";
import { pathsUnder } from "core/paths.ts";
import { ok } from "core/result.ts";
import { pairChange, pairOf } from "tests/core/ledger/repository_child.ts";
import { ADA, assertSound, repoTest, ROOT } from "tests/core/ledger/repository_bench.ts";

repoTest(
  "initRepo() makes a ledger with private shards; a second call changes nothing",
  async (bench) => {
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
    await assertSound(bench);
  },
);

repoTest("initRepo() completes a repository whose creation was interrupted", async (bench) => {
  await Deno.remove(`${bench.paths.repo}/.git/refs/heads/main`);
  assert((await initRepo(bench.host, bench.paths)).ok);
  assert.match(await bench.git("log", "--format=%s"), /^fleetctl: start the ledger$/);
});

repoTest(
  "commitChange() names verb and caller, and no input adds another trailer",
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

repoTest("commitChange() commits manual edits as recovered", async (bench) => {
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
  "commitChange() does not record an unreadable shard",
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
    assert.equal(await Deno.readTextFile(path), `${good}tools: [`, "the edit is kept");
    assert((await removeAgent(host, paths, { agent: ADA.name, verb: "x", caller: "root" })).ok);
    await assertSound(bench);
  },
);

repoTest("commitChange() does not record an unreadable file of a host", async (bench) => {
  const { host, paths, git } = bench;
  assert((await addAgent(host, paths, { record: ADA, ...ROOT })).ok);
  const path = `${paths.hostsDir}/boreas.yaml`;
  await Deno.mkdir(paths.hostsDir, { recursive: true });
  await Deno.writeTextFile(path, "dial_keys: [");
  const bob = { ...ADA, name: "bob" as AgentName, userEmail: "bob@example.org" as Email };
  const added = await addAgent(host, paths, { record: bob, ...ROOT });
  assert.equal(added.ok && added.value.hasRecovered, false);
  assert.equal(await git("ls-tree", "--name-only", "HEAD", "hosts.d/"), "");
  assert.equal(await Deno.readTextFile(path), "dial_keys: [", "the edit is kept");
});

repoTest(
  "commitChange() succeeds when another git moves HEAD to the pending commit first",
  async (bench) => {
    const { host, paths, git } = bench;
    assert((await commitChange(host, paths, pairChange(paths, "old"))).ok);
    const old = await git("rev-parse", "HEAD");
    const promised = await commitChange(host, paths, pairChange(paths, "new"));
    assert(promised.ok);
    const { commit } = promised.value;
    await git("update-ref", "HEAD", old);
    await Deno.writeTextFile(`${paths.repo}/.git/fleetctl.pending`, `${commit}\n`);
    // Another git moves the head to the same commit, between fleetctl's read and update.
    const spawn: LedgerPorts["processes"]["spawn"] = async (spec) => {
      if (spec.args.includes("--stdin")) await git("update-ref", "HEAD", commit);
      return await host.processes.spawn(spec);
    };
    const ports = { ...host, processes: { ...host.processes, spawn } };
    const next = await commitChange(ports, paths, { ...ROOT, summary: "x", edits: [] });
    assert.deepEqual(next.ok && [next.value.commit, next.value.hasRecovered], [commit, false]);
    await assertSound(bench);
  },
);

repoTest(
  "commitChange() drops a pending commit whose files a person has changed since",
  async (bench) => {
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
  },
);

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
  "commitChange() removes the lock that a killed git left on the branch",
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

repoTest("commitChange() reports that git is missing", async ({ host, paths }) => {
  const processes = { ...host.processes, which: () => Promise.resolve(undefined) };
  const done = await commitChange({ ...host, processes }, paths, pairChange(paths, "x"));
  assert.deepEqual(done.ok ? [] : [done.error.code, ...done.error.hints], [
    "git-missing",
    "apt-get install git",
  ]);
});

repoTest(
  "commitChange() keeps manual edits made during a change",
  async (bench) => {
    const { host, paths, git } = bench;
    assert((await addAgent(host, paths, { record: ADA, ...ROOT })).ok);
    const path = paths.agentShard("ada");
    let attempts = 0;
    const changed = await commitChange(host, paths, {
      verb: "agents set",
      caller: "root",
      summary: "a note",
      // Runs after the files are read and before they are written.
      accept: async () => {
        if (attempts++ === 0) await Deno.writeTextFile(path, "admin: true\n", { append: true });
        return ok(undefined);
      },
      edits: [{ path, change: (current) => ok(`${current}# a note\n`) }],
    });
    assert(changed.ok, JSON.stringify(changed));
    assert.equal(attempts, 2);
    assert.match(await Deno.readTextFile(path), /\nadmin: true\n# a note\n$/);
    assert.match(await git("log", "--format=%s", "-2"), /a note\n.*recover/);
    await assertSound(bench);
  },
);

repoTest(
  "commitChange() refuses while a person keeps editing, and changes nothing",
  async (bench) => {
    const { host, paths, git } = bench;
    assert((await addAgent(host, paths, { record: ADA, ...ROOT })).ok);
    const path = paths.agentShard("ada");
    let attempts = 0;
    const refused = await commitChange(host, paths, {
      verb: "agents set",
      caller: "root",
      summary: "a note",
      accept: async () => {
        await Deno.writeTextFile(path, `# edit ${++attempts}\n`, { append: true });
        return ok(undefined);
      },
      edits: [{ path, change: (current) => ok(`${current}# a note\n`) }],
    });
    assert(!refused.ok);
    assert.equal(refused.error.code, "ledger-edited");
    assert.match(await Deno.readTextFile(path), /# edit 1\n# edit 2\n# edit 3\n$/);
    assert.doesNotMatch(await git("log", "--format=%s"), /a note/);
    // The next change commits the last manual edit first.
    const next = { verb: "agents set", caller: "root", summary: "nothing", edits: [] };
    assert((await commitChange(host, paths, next)).ok);
    await assertSound(bench);
  },
);
