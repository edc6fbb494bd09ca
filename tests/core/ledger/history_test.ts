/**
 * Reading the history of the ledger and reverting changes, with real git: commits by people,
 * merges, branches, links, files that appear and disappear.
 *
 * @module
 */

import assert from "node:assert/strict";
import { readHistory } from "core/ledger/history.ts";
import type { LedgerPorts } from "core/ledger/git.ts";
import { overlaid } from "core/ledger/overlay.ts";
import { commitChange, initRepo } from "core/ledger/repository.ts";
import { revertChange } from "core/ledger/revert.ts";
import { openHost } from "core/os/host.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import { ok } from "core/result.ts";
import { memoryFiles } from "tests/fakes/files.ts";
import { recordingLog } from "tests/fakes/log.ts";

interface Bench {
  readonly ports: LedgerPorts;
  readonly paths: Paths;
  git(...args: readonly string[]): Promise<string>;
  /** Commits a change and returns its id. */
  write(texts: Readonly<Record<string, string | undefined>>): Promise<string>;
  /** Reverts a change; returns "ok" or the code of the refusal. */
  revert(commit: string): Promise<string>;
  read(name: string): Promise<string | undefined>;
}

async function withLedger(test: (bench: Bench) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "history-" });
  try {
    const ports = { ...openHost({ log: { program: "test" } }), log: recordingLog() };
    const paths = pathsUnder(root);
    assert.ok((await initRepo(ports, paths)).ok);
    const bench: Bench = {
      ports,
      paths,
      git: async (...args) => {
        const identity = ["-c", "user.name=Eve", "-c", "user.email=eve@example.org"];
        const ended = await new Deno.Command("git", {
          args: ["-C", paths.repo, ...identity, ...args],
        }).output();
        assert.ok(ended.success, new TextDecoder().decode(ended.stderr));
        return new TextDecoder().decode(ended.stdout).trim();
      },
      write: async (texts) => {
        const done = await commitChange(ports, paths, {
          verb: "test write",
          caller: "root",
          summary: Object.keys(texts).join(" "),
          edits: Object.entries(texts).map(([name, text]) => ({
            path: `${paths.repo}/${name}`,
            change: () => ok(text),
          })),
        });
        assert.ok(done.ok, JSON.stringify(done));
        return done.value.commit;
      },
      revert: async (commit) => {
        const accept = () => Promise.resolve(ok(undefined));
        const author = { verb: "ledger revert", caller: "root" };
        const done = await revertChange(ports, paths, { commit, ...author, accept });
        return done.ok ? "ok" : done.error.code;
      },
      read: (name) => ports.files.readText(`${paths.repo}/${name}`),
    };
    await test(bench);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

Deno.test("readHistory() distinguishes changes of verbs from commits of people", async () => {
  await withLedger(async (bench) => {
    await bench.write({ "hosts.d/a": "1\n" });
    await Deno.writeTextFile(`${bench.paths.hostsDir}/b`, "2\n");
    await bench.git("add", "-A");
    await bench.git("commit", "-qm", "by hand\n\nCaller: root");
    const all = await readHistory(bench.ports, bench.paths, { limit: 10 });
    assert.deepEqual(
      all.ok && all.value.map(({ verb, caller, subject, files }) => [verb, caller, subject, files]),
      [
        [undefined, "root", "by hand", ["hosts.d/b"]],
        ["test write", "root", "test write: hosts.d/a", ["hosts.d/a"]],
        [undefined, "fleetctl", "fleetctl: start the ledger", []],
      ],
    );
    const one = await readHistory(bench.ports, bench.paths, {
      limit: 10,
      path: `${bench.paths.hostsDir}/a`,
    });
    assert.equal(one.ok && one.value.length, 1);
    await Deno.remove(`${bench.paths.repo}/.git`, { recursive: true });
    const none = await readHistory(bench.ports, bench.paths, { limit: 1 });
    assert.equal(none.ok ? "" : none.error.code, "ledger-missing");
  });
});

Deno.test("revertChange() restores files, removes files, and merges lines", async () => {
  await withLedger(async (bench) => {
    const lines = (middle: string) => `top\n1\n2\n3\n${middle}\n4\n5\n6\nbottom\n`;
    await bench.write({ "hosts.d/a": lines("old"), "hosts.d/b": "b\n" });
    const changed = await bench.write({
      "hosts.d/a": lines("new"),
      "hosts.d/b": undefined,
      "hosts.d/c": "c\n",
    });
    await bench.write({ "hosts.d/a": lines("new").replace("top", "TOP") });
    assert.equal(await bench.revert(changed.slice(0, 10)), "ok");
    assert.equal(await bench.read("hosts.d/a"), lines("old").replace("top", "TOP"));
    assert.equal(await bench.read("hosts.d/b"), "b\n");
    assert.equal(await bench.read("hosts.d/c"), undefined);
    assert.match(await bench.git("log", "-1", "--format=%B"), /^ledger revert: .*\n\nVerb: ledger/);
    assert.equal(await bench.git("status", "--porcelain"), "");
    const again = await bench.git("rev-parse", "HEAD");
    assert.equal(await bench.revert(again), "ok", "a revert is a change like any other");
    assert.equal(await bench.read("hosts.d/c"), "c\n");
  });
});

Deno.test("revertChange() refuses the whole change if it cannot revert a part of it", async () => {
  await withLedger(async (bench) => {
    const { git, paths } = bench;
    await bench.write({ "hosts.d/a": "old\n", "hosts.d/b": "old\n" });
    const both = await bench.write({ "hosts.d/a": "new\n", "hosts.d/b": "new\n" });
    await bench.write({ "hosts.d/a": "newer\n" });
    const gone = await bench.write({ "hosts.d/d": "d\n" });
    await bench.write({ "hosts.d/d": "d, later\n" });
    const secrets = await bench.write({ "secrets.age": "sealed\n", "hosts.d/e": "e\n" });
    const readers = await bench.write({ "recipients": "age1\n" });
    await Deno.symlink("/etc/passwd", `${paths.hostsDir}/link`);
    await git("add", "-A");
    await git("commit", "-qm", "a link");
    const link = await git("rev-parse", "HEAD");
    await git("rm", "-q", "hosts.d/link");
    await git("commit", "-qm", "no link");
    await git("checkout", "-q", "-b", "aside");
    await git("commit", "-q", "--allow-empty", "-m", "aside");
    const aside = await git("rev-parse", "HEAD");
    await git("checkout", "-q", "main");
    const refused: readonly (readonly [commit: string, code: string])[] = [
      [both, "revert-conflict"],
      [gone, "revert-conflict"],
      [secrets, "revert-secrets"],
      [readers, "revert-secrets"],
      [link, "revert-odd-file"],
      [aside, "commit-unusable"],
      ["HEAD~1", "commit-unusable"],
      ["abc", "commit-unusable"],
      ["", "commit-unusable"],
    ];
    const head = await git("rev-parse", "HEAD");
    for (const [commit, code] of refused) assert.equal(await bench.revert(commit), code, commit);
    assert.equal(await git("rev-parse", "HEAD"), head);
    assert.equal(await bench.read("hosts.d/b"), "new\n");
    await git("merge", "-q", "--no-ff", "-m", "a merge", "aside");
    assert.equal(await bench.revert(await git("rev-parse", "HEAD")), "commit-unusable");
  });
});

Deno.test("overlaid() shows files as they would be", async () => {
  const files = memoryFiles();
  await files.ensureDir("/r/d");
  await files.write("/r/d/kept", "kept");
  await files.write("/r/d/gone", "gone");
  const file = (name: string, before: string | undefined, text: string | undefined) => (
    { path: `/r/${name}`, name, mode: 0o600, before, text }
  );
  const over = overlaid(files, [
    file("d/gone", "gone", undefined),
    file("e/new", undefined, "new"),
  ]);
  assert.deepEqual(await over.list("/r/d"), ["kept"]);
  assert.deepEqual(await over.list("/r/e"), ["new"]);
  assert.deepEqual([await over.readText("/r/d/kept"), await over.readText("/r/e/new")], [
    "kept",
    "new",
  ]);
  assert.equal(await over.readText("/r/d/gone"), undefined);
  assert.equal(await over.stat("/r/d/gone"), undefined);
  assert.deepEqual([(await over.stat("/r/e"))?.kind, (await over.stat("/r/e/new"))?.kind], [
    "directory",
    "file",
  ]);
  assert.equal(await over.stat("/r/f"), undefined);
});
