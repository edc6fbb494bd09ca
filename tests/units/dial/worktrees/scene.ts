/**
 * A workspace that is a real git repository, and the worktrees of an agent in it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { systemClock } from "core/os/clock.ts";
import { denoFiles } from "core/os/files.ts";
import { systemProcesses } from "core/os/processes.ts";
import { systemRandom } from "core/os/random.ts";
import type { Result } from "core/result.ts";
import { recordingLog } from "tests/fakes/log.ts";
import type { RuntimeUpdate } from "units/dial/runtimes/driver.ts";
import {
  openWorktrees,
  type Worktrees,
  type WorktreesOptions,
} from "units/dial/worktrees/worktrees.ts";

/** The scene that a test gets. */
export interface WorktreeScene {
  readonly root: string;
  readonly workspace: string;
  readonly stateDir: string;
  /** What `prepare` reported. */
  readonly updates: RuntimeUpdate[];
  /** Runs git in a folder, the workspace by default; returns its output. */
  git(args: string, folder?: string): Promise<string>;
  /** Runs a shell command in a folder, the workspace by default. */
  sh(command: string, folder?: string): Promise<string>;
  write(path: string, text: string): Promise<void>;
  read(path: string): Promise<string>;
  /** Opens the worktrees as a start of the dial unit does. */
  open(changes?: Partial<WorktreesOptions>): Promise<Worktrees>;
  /** Prepares a conversation for a turn. */
  prepare(worktrees: Worktrees, conversation: string, signal?: AbortSignal): Promise<Result<void>>;
}

/** Runs a test with a repository of one commit with the file `a.txt`. */
export async function withRepository(work: (scene: WorktreeScene) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "fleetctl-worktrees-" });
  const workspace = `${root}/workspace`;
  const env = {
    PATH: Deno.env.get("PATH") ?? "",
    HOME: `${root}/home`,
    GIT_AUTHOR_NAME: "Ada",
    GIT_AUTHOR_EMAIL: "ada@example.org",
    GIT_COMMITTER_NAME: "Ada",
    GIT_COMMITTER_EMAIL: "ada@example.org",
  };
  const sh = async (command: string, folder = workspace) => {
    const ended = await systemProcesses().run({
      command: "sh",
      args: ["-c", command],
      env,
      cwd: folder,
    });
    assert.equal(ended.code, 0, `${command}: ${ended.stderr}`);
    return ended.stdout.trim();
  };
  const updates: RuntimeUpdate[] = [];
  const scene: WorktreeScene = {
    root,
    workspace,
    stateDir: `${root}/dial`,
    updates,
    sh,
    git: (args, folder) => sh(`git ${args}`, folder),
    write: (path, text) => Deno.writeTextFile(path, text),
    read: (path) => Deno.readTextFile(path),
    open: (changes = {}) =>
      openWorktrees({
        agent: "ada",
        workspace,
        isOn: true,
        setup: undefined,
        stateDir: `${root}/dial`,
        env: { PATH: env.PATH, HOME: env.HOME },
        files: denoFiles(),
        processes: systemProcesses(),
        clock: systemClock(),
        random: systemRandom(),
        log: recordingLog(),
        ...changes,
      }),
    prepare: (worktrees, conversation, signal = new AbortController().signal) =>
      worktrees.prepare(conversation, {
        signal,
        onUpdate: async (update) => void updates.push(update),
      }),
  };
  try {
    await Deno.mkdir(workspace);
    await Deno.mkdir(env.HOME);
    await scene.write(`${workspace}/a.txt`, "one\n");
    await sh("git init --quiet --initial-branch main && git add . && git commit --quiet -m first");
    await work(scene);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** Returns the value; fails the test with the refusal. */
export function must<T>(result: Result<T>): T {
  assert.ok(result.ok, result.ok ? "" : `${result.error.code}: ${result.error.message}`);
  return result.value;
}
