/**
 * Runs git for worktrees and snapshots. The repository belongs to the agent, and git runs with the
 * agent's rights, so nothing here is a boundary. But a repository must not delay a turn for good:
 * no hook, monitor or prompt runs, and time and output are bounded. Filters of the repository run,
 * because files would otherwise have other contents than git expects.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { FileFault } from "core/ports/files.ts";
import type { Processes } from "core/ports/processes.ts";
import { err, ok, type Result } from "core/result.ts";

/** Why a git command failed. */
export interface GitFault {
  /**
   * `no-git`: the program is missing. `no-folder`: its working folder is missing. `late`: it took
   * too long. `stopped`: the caller no longer waits. `failed`: git refused.
   */
  readonly kind: "no-git" | "no-folder" | "late" | "stopped" | "failed";
  /** Exit status; undefined when it did not end by itself. */
  readonly status: number | undefined;
  /** What git printed last, in one line. */
  readonly words: string;
}

/** Options of one command. */
export interface GitCall {
  readonly signal?: AbortSignal | undefined;
  /** The index to use instead of that of the worktree. */
  readonly index?: string;
  readonly timeoutMs?: number;
}

/** Runs a git command in a folder; returns what it printed. */
export type Git = (
  folder: string,
  args: readonly string[],
  call?: GitCall,
) => Promise<Result<string, GitFault>>;

/** Time limit of one command. A large checkout takes minutes. */
const GIT_MS = 5 * 60_000;
/** A list of the files of a large repository. */
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const WORDS_LENGTH_MAX = 500;

const OPTIONS = [
  "--no-pager",
  ...[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "credential.helper=",
    "advice.addEmbeddedRepo=false",
    // A reported snapshot must survive a power cut.
    "core.fsync=loose-object,pack,reference",
  ].flatMap((option) => ["-c", option]),
];
/** The author of snapshots. Without a name, git refuses to write a commit. */
const AUTHOR = { NAME: "fleetctl", EMAIL: "fleetctl@localhost" };

/** Creates the runner. `env` supplies `PATH` and `HOME`. */
export function createGit(
  processes: Pick<Processes, "run">,
  env: Readonly<Record<string, string>>,
): Git {
  return async (folder, args, { signal, index, timeoutMs = GIT_MS } = {}) => {
    const fault = (kind: GitFault["kind"], words: string, status?: number) =>
      err({ kind, status, words });
    const isStopped = () => signal?.aborted === true;
    if (isStopped()) return fault("stopped", "it was cancelled");
    let ended: Awaited<ReturnType<Processes["run"]>>;
    try {
      ended = await processes.run({
        command: "git",
        args: [...OPTIONS, ...args],
        env: gitEnv(env, index),
        cwd: folder,
        timeoutMs,
        outputBytesMax: OUTPUT_BYTES_MAX,
        ...defined({ signal }),
      });
    } catch (thrown) {
      if (!(thrown instanceof FileFault)) throw thrown;
      return fault(thrown.path === folder ? "no-folder" : "no-git", thrown.message);
    }
    const words = lastWords(ended.stderr);
    if (isStopped()) return fault("stopped", "it was cancelled");
    if (ended.timedOut) return fault("late", `it did not end within ${timeoutMs / 1_000} s`);
    if (ended.truncated) return fault("failed", "its output is too long");
    return ended.code === 0
      ? ok(ended.stdout)
      : fault("failed", words === "" ? `exit status ${ended.code}` : words, ended.code);
  };
}

function gitEnv(
  { PATH = "", HOME = "" }: Readonly<Record<string, string>>,
  index: string | undefined,
): Readonly<Record<string, string>> {
  return {
    PATH,
    HOME,
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_SSH_COMMAND: "ssh -oBatchMode=yes",
    GIT_AUTHOR_NAME: AUTHOR.NAME,
    GIT_AUTHOR_EMAIL: AUTHOR.EMAIL,
    GIT_COMMITTER_NAME: AUTHOR.NAME,
    GIT_COMMITTER_EMAIL: AUTHOR.EMAIL,
    ...defined({ GIT_INDEX_FILE: index }),
  };
}

/** The lines in which git states its reason, without control characters. */
function lastWords(stderr: string): string {
  const lines = stderr.split("\n").map((line) => line.replace(/\p{Cc}+/gu, " ").trim());
  const reasons = lines.filter((line) => /^(?:fatal|error): /.test(line));
  const shown = reasons.length > 0 ? reasons : lines.filter((line) => line !== "").slice(-1);
  return shown.map((line) => line.replace(/^(?:fatal|error): /, "")).join("; ")
    .slice(0, WORDS_LENGTH_MAX);
}

/** Returns whether git failed because the disk is full. */
export function isDiskFull({ words }: GitFault): boolean {
  return /no space left|disk quota exceeded/i.test(words);
}
