/**
 * Removing worktrees, with real git: what the snapshot holds, what cannot be removed, and a process
 * that is killed at each step.
 *
 * @module
 */

import assert from "node:assert/strict";
import { systemProcesses } from "core/os/processes.ts";
import type { Processes } from "core/ports/processes.ts";
import { must, withRepository, type WorktreeScene } from "tests/units/dial/worktrees/scene.ts";
import type { Worktrees } from "units/dial/worktrees/worktrees.ts";

/** Prepares `trip`, with changes of each kind. */
async function changedTrip(scene: WorktreeScene, worktrees: Worktrees): Promise<string> {
  must(await scene.prepare(worktrees, "trip"));
  const folder = worktrees.folderOf("trip") ?? "";
  await scene.write(`${folder}/.gitignore`, "ignored\n");
  await scene.write(`${folder}/ignored`, "x");
  await scene.write(`${folder}/committed.txt`, "committed\n");
  await scene.git("add . && git -c user.name=a -c user.email=a@b commit -qm work", folder);
  await scene.write(`${folder}/a.txt`, "changed\n");
  await scene.write(`${folder}/staged.txt`, "staged\n");
  await scene.git("add staged.txt", folder);
  await scene.write(`${folder}/ünt racked.txt`, "untracked\n");
  return folder;
}

/** Checks that a commit or folder has the files of `changedTrip`. */
async function holdsTrip(scene: WorktreeScene, folder: string): Promise<void> {
  const names = ["a.txt", "committed.txt", "staged.txt", "ünt racked.txt"];
  const texts = await Promise.all(names.map((name) => scene.read(`${folder}/${name}`)));
  assert.deepEqual(texts, ["changed\n", "committed\n", "staged\n", "untracked\n"]);
}

Deno.test("a removed worktree leaves its branch and a complete snapshot", async () => {
  await withRepository(async (scene) => {
    const worktrees = await scene.open();
    const folder = await changedTrip(scene, worktrees);
    const tip = await scene.git("rev-parse HEAD", folder);
    const removed = must(await worktrees.remove("trip"));
    const { snapshot = "" } = removed ?? {};
    assert.match(snapshot, /^refs\/fleetctl\/snapshots\/trip\/\d{8}T\d{9}Z$/);
    await assert.rejects(Deno.stat(folder));
    assert.equal(worktrees.folderOf("trip"), undefined);
    assert.equal(await scene.git("rev-parse fleetctl/trip"), tip, "the branch did not move");
    assert.equal(await scene.git(`rev-parse ${snapshot}^`), tip);
    assert.equal(await scene.git("worktree list | wc -l"), "1");
    const left = [...Deno.readDirSync(`${scene.stateDir}/worktrees`)].map(({ name }) => name);
    assert.deepEqual(left, ["index"]);
    assert.deepEqual([...Deno.readDirSync(`${scene.stateDir}/worktrees/index`)], []);
    await scene.git(`worktree add --quiet --detach ${folder} ${snapshot}`);
    await holdsTrip(scene, folder);
    await assert.rejects(Deno.stat(`${folder}/ignored`));
    must(await scene.prepare(worktrees, "trip"));
    assert.equal(worktrees.folderOf("trip"), folder, "the next turn works in the restored folder");
    await holdsTrip(scene, folder);
  });
});

Deno.test("a conversation without a worktree has nothing to remove", async () => {
  await withRepository(async (scene) => {
    const worktrees = await scene.open();
    assert.equal(must(await worktrees.remove("trip")), undefined);
    must(await scene.prepare(worktrees, "work"));
    await Deno.remove(worktrees.folderOf("work") ?? "", { recursive: true });
    assert.equal(must(await worktrees.remove("work"))?.snapshot, undefined);
    assert.equal(await scene.git("worktree list | wc -l"), "1");
  });
});

interface Kept {
  readonly name: string;
  readonly code: string;
  readonly words: RegExp;
  readonly hint: RegExp;
  readonly before: (scene: WorktreeScene, folder: string) => Promise<unknown>;
  readonly after?: (scene: WorktreeScene, folder: string) => Promise<unknown>;
}

const KEPT: readonly Kept[] = [
  {
    name: "a locked one",
    code: "worktree-locked",
    words: /it is locked \(on a stick\), must be unlocked/,
    hint: /^git -C '.*' worktree unlock '.*'$/,
    before: ({ git }, folder) => git(`worktree lock --reason 'on a stick' ${folder}`),
    after: ({ git }, folder) => git(`worktree unlock ${folder}`),
  },
  {
    name: "one with a repository inside",
    code: "worktree-has-repository",
    words: /"inner" is a repository inside it/,
    hint: /^git -C '.*\/inner' status$/,
    before: ({ sh }, folder) =>
      sh(
        "git init -q inner && cd inner && touch x && git add x && " +
          "git -c user.name=a -c user.email=a@b commit -qm inner",
        folder,
      ),
    after: ({ sh }, folder) => sh("rm -rf inner", folder),
  },
  {
    name: "one with a submodule",
    code: "worktree-has-repository",
    words: /"sub" is a repository inside it/,
    hint: /^git -C '.*\/sub' status$/,
    before: ({ git, workspace }, folder) =>
      git(`-c protocol.file.allow=always submodule --quiet add ${workspace} sub`, folder),
    after: ({ sh }, folder) => sh("rm -rf sub .gitmodules && git reset -q", folder),
  },
  {
    name: "one whose file git cannot read",
    code: "snapshot-failed",
    words: /its snapshot failed, .*; nothing was removed/,
    hint: /^git -C '.*' status$/,
    before: ({ git, write }, folder) =>
      write(`${folder}/.gitattributes`, "*.bad filter=bad\n")
        .then(() => write(`${folder}/x.bad`, "x"))
        .then(() => git("config filter.bad.clean false && git config filter.bad.required true")),
    after: ({ git }) => git("config filter.bad.clean cat"),
  },
];

for (const { name, code, words, hint, before, after } of KEPT) {
  Deno.test(`not removed, and nothing lost: ${name}`, async () => {
    await withRepository(async (scene) => {
      const worktrees = await scene.open();
      const folder = await changedTrip(scene, worktrees);
      await before(scene, folder);
      const refused = await worktrees.remove("trip");
      assert.ok(!refused.ok);
      assert.equal(refused.error.code, code);
      assert.match(refused.error.message, words);
      assert.match(refused.error.hints[0] ?? "", hint);
      await holdsTrip(scene, folder);
      must(await scene.prepare(worktrees, "trip"));
      await after?.(scene, folder);
      assert.ok(must(await worktrees.remove("trip"))?.snapshot);
    });
  });
}

Deno.test("a worktree that git could not remove gets its files back", async () => {
  await withRepository(async (scene) => {
    const processes = stopping(({ args }) => args.includes("remove"), "fails");
    const worktrees = await scene.open({ processes });
    const folder = await changedTrip(scene, worktrees);
    const refused = await worktrees.remove("trip");
    assert.ok(!refused.ok);
    assert.equal(refused.error.code, "worktree-not-removed");
    assert.match(
      refused.error.message,
      /Device or resource busy; its files were restored from refs/,
    );
    assert.match(refused.error.hints[0] ?? "", /^find '.*' ! -user ada$/);
    await holdsTrip(scene, folder);
    const again = await scene.open();
    must(await scene.prepare(again, "trip"));
    assert.ok(must(await again.remove("trip"))?.snapshot);
  });
});

Deno.test("without room for the snapshot nothing is removed", async () => {
  await withRepository(async (scene) => {
    const processes = stopping(
      ({ args }) => args.includes("add") && args.includes("--all"),
      "full",
    );
    const worktrees = await scene.open({ processes });
    const folder = await changedTrip(scene, worktrees);
    const refused = await worktrees.remove("trip");
    assert.ok(!refused.ok);
    assert.equal(refused.error.code, "snapshot-failed");
    assert.deepEqual(refused.error.hints, ["df -h"]);
    await holdsTrip(scene, folder);
  });
});

/** The git commands of a removal, in order; the process is killed before or after each of them. */
const STEPS: readonly string[] = [
  "repair",
  "list",
  "read-tree",
  "--all",
  "ls-files",
  "write-tree",
  "commit-tree",
  "update-ref",
  "remove",
];

const KILLS = STEPS.flatMap((step) =>
  (["before", "amid", "after"] as const).filter((when) => when !== "amid" || step === "remove")
    .map((when) => [step, when] as const)
);

for (const [step, when] of KILLS) {
  Deno.test(`killed ${when} "${step}", the next start loses no file`, async () => {
    await withRepository(async (scene) => {
      const folder = await changedTrip(scene, await scene.open());
      const processes = stopping(({ args }) => args.includes(step), when);
      const killed = await scene.open({ processes });
      // A killed process never gets an answer.
      void killed.remove("trip");
      await processes.stopped;
      const next = await scene.open();
      await next.settled();
      const snapshots = await scene.git("for-each-ref --format='%(refname)' refs/fleetctl");
      if (next.get("trip") === undefined) {
        const [snapshot = ""] = snapshots.split("\n");
        assert.equal(await scene.git("worktree list | wc -l"), "1");
        await scene.git(`worktree add --quiet --detach ${folder} ${snapshot}`);
      } else {
        must(await scene.prepare(next, "trip"));
      }
      await holdsTrip(scene, folder);
      must(await next.remove("trip"));
    });
  });
}

/** Runs programs; the one that matches is stopped, fails, or breaks off half-way. */
function stopping(
  matches: (spec: { readonly args: readonly string[] }) => boolean,
  how: "before" | "amid" | "after" | "fails" | "full",
): Pick<Processes, "run" | "spawn"> & { readonly stopped: Promise<void> } {
  const real = systemProcesses();
  const reached = Promise.withResolvers<void>();
  const never = new Promise<never>(() => {});
  const failed = (stderr: string) => ({
    code: 128,
    signal: undefined,
    stdout: "",
    stderr,
    truncated: false,
    timedOut: false,
  });
  let isDone = false;
  return {
    stopped: reached.promise,
    spawn: (spec) => real.spawn(spec),
    run: async (spec) => {
      if (isDone || !matches(spec)) return await real.run(spec);
      isDone = true;
      if (how === "full") return failed("fatal: unable to write: No space left on device\n");
      const folder = spec.args.at(-1) ?? "";
      if (how === "fails" || how === "amid") {
        // As git does at a busy folder: the files before it are gone.
        await Deno.remove(`${folder}/a.txt`);
        await Deno.remove(`${folder}/.git`);
      }
      if (how === "fails") {
        return failed(`error: failed to delete '${folder}': Device or resource busy\n`);
      }
      if (how === "after") await real.run(spec);
      reached.resolve();
      return await never;
    },
  };
}
