/**
 * Worktrees of new conversations, with real git: what each kind of repository gives, and which
 * programs of the repository run.
 *
 * @module
 */

import assert from "node:assert/strict";
import { must, withRepository, type WorktreeScene } from "tests/units/dial/worktrees/scene.ts";

Deno.test("two conversations change the same file without seeing each other", async () => {
  await withRepository(async (scene) => {
    const { workspace, write, read, git } = scene;
    const worktrees = await scene.open();
    for (const name of ["trip", "work"]) must(await scene.prepare(worktrees, name));
    must(await worktrees.prepare(undefined, { signal: new AbortController().signal, onUpdate }));
    const [trip = "", work = ""] = ["trip", "work"].map((name) => worktrees.folderOf(name));
    assert.equal(trip, `${workspace}/.fleetctl/worktrees/trip`);
    assert.equal(worktrees.folderOf(undefined), undefined);
    await write(`${trip}/a.txt`, "trip\n");
    await write(`${work}/a.txt`, "work\n");
    assert.deepEqual(
      await Promise.all([workspace, trip, work].map((folder) => read(`${folder}/a.txt`))),
      ["one\n", "trip\n", "work\n"],
    );
    assert.equal(await git("status --porcelain"), "", "the workspace does not show its worktrees");
    assert.equal(await git("branch --show-current", trip), "fleetctl/trip");
    assert.deepEqual(scene.updates.map((update) => update.kind), ["notice", "notice"]);
  });
});

const onUpdate = async () => {};

Deno.test("a worktree is created once, and again when a person removed it", async () => {
  await withRepository(async (scene) => {
    must(await scene.prepare(await scene.open(), "trip"));
    const worktrees = await scene.open();
    must(await scene.prepare(worktrees, "trip"));
    assert.equal(scene.updates.length, 1);
    const folder = worktrees.folderOf("trip") ?? "";
    await scene.write(`${folder}/b.txt`, "b");
    await scene.git("add . && git -c user.name=a -c user.email=a@b commit -qm second", folder);
    await Deno.remove(folder, { recursive: true });
    must(await scene.prepare(worktrees, "trip"));
    assert.equal(await scene.read(`${folder}/b.txt`), "b");
  });
});

Deno.test("unusual conversation names give valid folders and branches", async () => {
  await withRepository(async (scene) => {
    const worktrees = await scene.open();
    for (const name of ["-", "--", "-x", "0", "head", "z".repeat(64)]) {
      must(await scene.prepare(worktrees, name));
      const folder = worktrees.folderOf(name) ?? "";
      assert.equal(await scene.git("branch --show-current", folder), `fleetctl/${name}`);
    }
  });
});

Deno.test("a detached HEAD, and a workspace that is a worktree, have worktrees", async () => {
  await withRepository(async (scene) => {
    await scene.git("checkout --quiet --detach");
    must(await scene.prepare(await scene.open(), "trip"));
    const other = `${scene.root}/other`;
    await scene.git(`worktree add --quiet -b other ${other}`);
    const worktrees = await scene.open({ workspace: other, stateDir: `${scene.root}/dial2` });
    must(await scene.prepare(worktrees, "work"));
    assert.equal(worktrees.folderOf("work"), `${other}/.fleetctl/worktrees/work`);
    assert.equal(await scene.git("status --porcelain", other), "");
  });
});

interface Refused {
  readonly name: string;
  readonly code: string;
  readonly hint: string | RegExp;
  readonly before: (scene: WorktreeScene) => Promise<unknown>;
}

const OFF = "fleetctl agents set ada --worktrees no";
const REFUSED: readonly Refused[] = [
  {
    name: "a plain folder",
    code: "workspace-not-repository",
    hint: OFF,
    before: ({ sh }) => sh("rm -rf .git"),
  },
  {
    name: "a folder that is missing",
    code: "workspace-missing",
    hint: "fleetctl apply",
    before: ({ workspace }) => Deno.remove(workspace, { recursive: true }),
  },
  {
    name: "a repository without a commit",
    code: "workspace-without-commit",
    hint: /^git -C '.*' commit --allow-empty/,
    before: ({ sh }) => sh("rm -rf .git && git init --quiet"),
  },
  {
    name: "a bare repository",
    code: "workspace-bare",
    hint: OFF,
    before: ({ sh }) => sh("rm -rf .git a.txt && git init --quiet --bare ."),
  },
  {
    name: "a folder of a larger repository",
    code: "workspace-in-repository",
    hint: OFF,
    before: ({ sh, root }) => sh(`rm -rf .git && git init --quiet ${root}`),
  },
  {
    name: "a branch in the way",
    code: "worktree-not-created",
    hint: /^git -C '.*' worktree list/,
    before: ({ git }) => git("branch fleetctl"),
  },
  {
    name: "files of a person in the way",
    code: "worktree-not-created",
    hint: /^git -C '.*' worktree list/,
    before: ({ sh }) => sh("mkdir -p .fleetctl/worktrees/trip && touch .fleetctl/worktrees/trip/x"),
  },
  {
    name: "a damaged repository",
    code: "workspace-unreadable",
    hint: OFF,
    before: ({ sh }) => sh("echo '[' >> .git/config"),
  },
];

for (const { name, code, hint, before } of REFUSED) {
  Deno.test(`no worktree: ${name}`, async () => {
    await withRepository(async (scene) => {
      await before(scene);
      const worktrees = await scene.open();
      const prepared = await scene.prepare(worktrees, "trip");
      assert.ok(!prepared.ok);
      assert.equal(prepared.error.code, code);
      const [given = ""] = prepared.error.hints;
      if (typeof hint === "string") assert.equal(given, hint);
      else assert.match(given, hint);
      assert.equal(worktrees.folderOf("trip"), undefined);
      assert.deepEqual(scene.updates, []);
    });
  });
}

Deno.test("no worktree: git is missing", async () => {
  await withRepository(async (scene) => {
    const worktrees = await scene.open({ env: { PATH: `${scene.root}/empty`, HOME: scene.root } });
    const prepared = await scene.prepare(worktrees, "trip");
    assert.ok(!prepared.ok);
    assert.equal(prepared.error.code, "git-missing");
    assert.deepEqual(prepared.error.hints, ["apt-get install git"]);
  });
});

Deno.test("hooks and monitors of the repository do not run", async () => {
  await withRepository(async (scene) => {
    const mark = `${scene.root}/ran`;
    for (const hook of ["post-checkout", "reference-transaction", "post-index-change"]) {
      await scene.write(`${scene.workspace}/.git/hooks/${hook}`, `#!/bin/sh\ntouch ${mark}\n`);
      await Deno.chmod(`${scene.workspace}/.git/hooks/${hook}`, 0o755);
    }
    await scene.write(`${scene.root}/monitor`, `#!/bin/sh\ntouch ${mark}\n`);
    await Deno.chmod(`${scene.root}/monitor`, 0o755);
    await scene.git(`config core.fsmonitor ${scene.root}/monitor`);
    await Deno.remove(mark).catch(() => {});
    const worktrees = await scene.open();
    must(await scene.prepare(worktrees, "trip"));
    must(await worktrees.remove("trip"));
    await assert.rejects(Deno.stat(mark));
  });
});

Deno.test("a filter that hangs ends with the turn, and the next turn tries again", async () => {
  await withRepository(async (scene) => {
    await scene.write(`${scene.workspace}/.gitattributes`, "*.txt filter=slow\n");
    await scene.git("add . && git -c user.name=a -c user.email=a@b commit -qm slow");
    await scene.git("config filter.slow.smudge 'touch ../../../../started; sleep 600; cat'");
    const worktrees = await scene.open();
    const stop = new AbortController();
    const preparing = scene.prepare(worktrees, "trip", stop.signal);
    const watcher = Deno.watchFs(scene.root);
    for await (const { paths } of watcher) {
      if (paths.some((path) => path.endsWith("/started"))) break;
    }
    stop.abort();
    const prepared = await preparing;
    assert.ok(!prepared.ok);
    assert.equal(prepared.error.code, "worktree-stopped");
    await scene.git("config filter.slow.smudge cat");
    must(await scene.prepare(await scene.open(), "trip"));
    assert.equal(await scene.read(`${worktrees.folderOf("trip")}/a.txt`), "one\n");
  });
});

Deno.test("a conversation that began in the workspace stays there", async () => {
  await withRepository(async (scene) => {
    await Deno.mkdir(`${scene.stateDir}/sessions`, { recursive: true });
    await scene.write(`${scene.stateDir}/sessions/old.json`, "{}\n");
    const worktrees = await scene.open();
    must(await scene.prepare(worktrees, "old"));
    assert.equal(worktrees.folderOf("old"), undefined);
  });
});

Deno.test("after worktrees are turned off, a conversation keeps its own", async () => {
  await withRepository(async (scene) => {
    must(await scene.prepare(await scene.open(), "trip"));
    const worktrees = await scene.open({ isOn: false });
    must(await scene.prepare(worktrees, "trip"));
    must(await scene.prepare(worktrees, "work"));
    assert.match(worktrees.folderOf("trip") ?? "", /trip$/);
    assert.equal(worktrees.folderOf("work"), undefined);
    const removed = await worktrees.remove("trip");
    assert.ok(!removed.ok);
    assert.deepEqual(removed.error.hints, ["fleetctl agents set ada --worktrees yes"]);
  });
});

Deno.test("a worktree of another workspace is refused, with the command to return", async () => {
  await withRepository(async (scene) => {
    must(await scene.prepare(await scene.open(), "trip"));
    const worktrees = await scene.open({ workspace: `${scene.root}/elsewhere` });
    for (const result of [await scene.prepare(worktrees, "trip"), await worktrees.remove("trip")]) {
      assert.ok(!result.ok);
      assert.equal(result.error.code, "worktree-elsewhere");
      assert.deepEqual(result.error.hints, [
        `fleetctl agents set ada --workspace '${scene.workspace}'`,
      ]);
    }
  });
});
