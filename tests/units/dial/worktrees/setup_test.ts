/**
 * Set-up scripts: when they run, what they get, and how each end appears in the turn.
 *
 * @module
 */

import assert from "node:assert/strict";
import { systemClock } from "core/os/clock.ts";
import type { Clock } from "core/ports/clock.ts";
import { must, withRepository, type WorktreeScene } from "tests/units/dial/worktrees/scene.ts";
import { SETUP_MS, SETUP_OUTPUT_BYTES_MAX, setupEnv } from "units/dial/worktrees/setup.ts";

/** Commits a script to the repository. */
async function commitScript(scene: WorktreeScene, text: string, mode = 0o755): Promise<void> {
  await scene.write(`${scene.workspace}/setup`, text);
  await Deno.chmod(`${scene.workspace}/setup`, mode);
  await scene.git("add . && git -c user.name=a -c user.email=a@b commit -qm setup");
}

const kinds = ({ updates }: WorktreeScene) => updates.map((update) => update.kind);

Deno.test("a script runs once, in the new worktree, and its output is in the turn", async () => {
  await withRepository(async (scene) => {
    await commitScript(
      scene,
      '#!/bin/sh\necho "$FLEETCTL_CONVERSATION $PWD $FLEETCTL_REPOSITORY"\necho x >> made\n',
    );
    const worktrees = await scene.open({ setup: "setup" });
    must(await scene.prepare(worktrees, "trip"));
    must(await scene.prepare(worktrees, "trip"));
    assert.deepEqual(kinds(scene), ["notice", "tool_call", "tool_result"]);
    const folder = worktrees.folderOf("trip");
    const result = scene.updates.at(-1);
    assert.ok(result?.kind === "tool_result");
    assert.equal(result.status, "completed");
    assert.equal(result.text, `trip ${folder} ${scene.workspace}\n`);
    assert.equal(await scene.read(`${folder}/made`), "x\n");
  });
});

Deno.test("a file that is not executable runs as a shell script", async () => {
  await withRepository(async (scene) => {
    await commitScript(scene, "echo made > made\n", 0o644);
    const worktrees = await scene.open({ setup: "setup" });
    must(await scene.prepare(worktrees, "trip"));
    assert.equal(await scene.read(`${worktrees.folderOf("trip")}/made`), "made\n");
  });
});

Deno.test("a failed script refuses the turn, and the next turn runs it again", async () => {
  await withRepository(async (scene) => {
    await commitScript(scene, "#!/bin/sh\necho one\necho two >&2\n[ -e ../ok ] || exit 3\n");
    const worktrees = await scene.open({ setup: "setup" });
    const failed = await scene.prepare(worktrees, "trip");
    assert.ok(!failed.ok);
    assert.equal(failed.error.code, "setup-failed");
    assert.match(
      failed.error.message,
      /^Cannot begin the turn: set-up script "setup" ended with exit status 3, must succeed; its last lines: /,
    );
    assert.match(failed.error.message, /one/);
    assert.match(failed.error.message, /two/);
    assert.deepEqual(failed.error.hints, ["fleetctl turn ada --conversation trip 'try again'"]);
    await scene.write(`${scene.workspace}/.fleetctl/worktrees/ok`, "");
    must(await scene.prepare(await scene.open({ setup: "setup" }), "trip"));
    const results = scene.updates.flatMap((update) =>
      update.kind === "tool_result" ? [update.status] : []
    );
    assert.deepEqual(results, ["failed", "completed"]);
  });
});

Deno.test("a script that is missing refuses the turn", async () => {
  await withRepository(async (scene) => {
    const prepared = await scene.prepare(await scene.open({ setup: "bin/setup" }), "trip");
    assert.ok(!prepared.ok);
    assert.equal(prepared.error.code, "setup-missing");
    assert.deepEqual(prepared.error.hints, ["fleetctl agents set ada --setup ''"]);
  });
});

Deno.test("of a long output the end is kept", async () => {
  await withRepository(async (scene) => {
    await commitScript(scene, "#!/bin/sh\nyes 0123456789 | head -c 3000000\necho the end\n");
    must(await scene.prepare(await scene.open({ setup: "setup" }), "trip"));
    const result = scene.updates.at(-1);
    assert.ok(result?.kind === "tool_result");
    assert.equal(result.text.length, SETUP_OUTPUT_BYTES_MAX);
    assert.match(result.text, /the end\n$/);
    assert.equal(result.cutBytes, 3_000_000 + "the end\n".length - SETUP_OUTPUT_BYTES_MAX);
  });
});

Deno.test("a cancel ends the script and its processes", async () => {
  await withRepository(async (scene) => {
    await commitScript(scene, "#!/bin/sh\nsleep 600 &\ntouch ../started\nsleep 600\n");
    const worktrees = await scene.open({ setup: "setup" });
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
    const result = scene.updates.at(-1);
    assert.ok(result?.kind === "tool_result" && result.status === "stopped");
  });
});

Deno.test("a script that does not end is stopped", async () => {
  await withRepository(async (scene) => {
    await commitScript(scene, "#!/bin/sh\necho waiting\nsleep 600\n");
    const real = systemClock();
    // The time limit passes at once; other waits are real.
    const clock: Clock = {
      ...real,
      after: (ms, act) => real.after(ms === SETUP_MS ? 300 : ms, act),
    };
    const prepared = await scene.prepare(await scene.open({ setup: "setup", clock }), "trip");
    assert.ok(!prepared.ok);
    assert.equal(prepared.error.code, "setup-late");
    assert.match(prepared.error.message, /did not end within 10 minutes/);
  });
});

Deno.test("a script gets no key of a model, and no variable of the unit", () => {
  assert.deepEqual(
    setupEnv({ PATH: "/bin", ANTHROPIC_API_KEY: "k", NPM_TOKEN: "t", NOTIFY_SOCKET: "/run/x" }),
    { PATH: "/bin", NPM_TOKEN: "t" },
  );
});
