/**
 * Runs git on the ledger and on nothing else: folder and work tree are named, so that a missing
 * `.git` never reaches a repository further up; the environment is empty but for what is listed
 * here; no hook, no pager, no prompt and no configuration outside the repository takes part.
 *
 * Our own index file is used, so that a person's `git status` and our writes never meet.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import type { Child, Processes, ProcessExit, ProcessSpec } from "core/ports/processes.ts";
import type { Paths } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";

/** What the ledger needs of the machine. */
export interface LedgerPorts {
  readonly files: Files;
  readonly processes: Processes;
  readonly clock: Clock;
  readonly log: Log;
}

/** A move of `HEAD` that has its locks and its space, and happens with `commit`. */
export interface PreparedHead {
  /** Needs no more space on the disk. */
  commit(): Promise<Result<void>>;
  /** Lets go without a move. */
  abort(): Promise<void>;
}

/** git, bound to one ledger. */
export interface Git {
  /** Runs one command; a failure is a refusal with git's own words as details. */
  run(
    args: readonly string[],
    options?: { readonly input?: string; readonly isPersonsIndex?: boolean },
  ): Promise<Result<string>>;
  /**
   * Prepares the move of `HEAD` from `old` to `commit`. When this process dies first, git sees the
   * end of its input and lets go by itself.
   */
  prepareHead(commit: string, old: string): Promise<Result<PreparedHead>>;
}

/** A command on a ledger takes milliseconds; this is for a disk that hangs. */
const COMMAND_MS_MAX = 60_000;
/** Lines of git's complaint that are shown. */
const COMPLAINT_LINES_MAX = 5;
/** Settings that hold for each command, whatever the repository's own configuration says. */
const SETTINGS = [
  "user.name=fleetctl",
  "user.email=fleetctl@localhost",
  "user.useConfigOnly=true",
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.autocrlf=false",
  "core.attributesFile=/dev/null",
  "core.excludesFile=/dev/null",
  "core.quotePath=false",
  // The log of references would be written after the files are switched, and need space then.
  "core.logAllRefUpdates=false",
  "commit.gpgSign=false",
  "gc.auto=2000",
  "gc.autoDetach=false",
  // A commit that was reported survives a power cut.
  "core.fsync=loose-object,pack,reference",
] as const;

/** Finds git and binds it to the ledger under `paths`. */
export async function openGit(
  ports: Pick<LedgerPorts, "processes" | "clock">,
  paths: Paths,
): Promise<Result<Git>> {
  const program = await ports.processes.which("git");
  if (program === undefined) {
    return err(refusal("git-missing", "Cannot open the ledger: git is not on the PATH", {
      hints: ["apt-get install git"],
    }));
  }
  const base = [
    "--no-pager",
    `--git-dir=${paths.repo}/.git`,
    `--work-tree=${paths.repo}`,
    ...SETTINGS.flatMap((setting) => ["-c", setting]),
  ];
  const specOf = (args: readonly string[], isPersonsIndex = false): ProcessSpec => ({
    command: program,
    args: [...base, ...args],
    cwd: paths.repo,
    env: environment(ports, isPersonsIndex ? undefined : indexFile(paths)),
  });
  return ok({
    run: async (args, options = {}) => {
      const ended = await ports.processes.run({
        ...specOf(args, options.isPersonsIndex),
        timeoutMs: COMMAND_MS_MAX,
        ...defined({ input: options.input }),
      });
      if (ended.code === 0) return ok(ended.stdout);
      const how = ended.timedOut
        ? `did not end within ${COMMAND_MS_MAX / 1000} seconds`
        : describeExit(ended);
      return err(gitRefusal(paths, args[0] ?? "", how, ended.stderr));
    },
    prepareHead: async (commit, old) => {
      // A group of its own: a Ctrl-C at the terminal is for us to handle, not for git.
      const spec = specOf(["update-ref", "--stdin"]);
      const child = await ports.processes.spawn({ ...spec, group: true });
      const talk = converse(ports.clock, child);
      const prepared = await talk.say(
        `start\nupdate HEAD ${commit} ${old}\nprepare\n`,
        "prepare: ok",
      );
      const fail = async () => {
        const { exit, stderr } = await talk.end();
        return err(gitRefusal(paths, "update-ref", describeExit(exit), stderr));
      };
      if (!prepared) return await fail();
      return ok({
        commit: async () => {
          if (!await talk.say("commit\n", "commit: ok")) return await fail();
          await talk.end();
          return ok(undefined);
        },
        abort: async () => {
          await talk.end();
        },
      });
    },
  });
}

function environment(ports: Pick<LedgerPorts, "clock">, index: string | undefined) {
  const date = `@${Math.floor(ports.clock.now() / 1000)} +0000`;
  return {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    HOME: "/nonexistent",
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_TERMINAL_PROMPT: "0",
    GIT_AUTHOR_DATE: date,
    GIT_COMMITTER_DATE: date,
    ...defined({ GIT_INDEX_FILE: index }),
  };
}

/** Talks to a child over its pipes; a child that does not answer in time is ended. */
function converse(clock: Clock, child: Child) {
  const writer = child.stdin.getWriter();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const complaint = new Response(child.stderr).text();
  const cancel = clock.after(COMMAND_MS_MAX, () => child.kill("SIGKILL"));
  let heard = "";
  return {
    /** Says a text and waits for a line; false when the child ended instead. */
    say: async (text: string, wanted: string): Promise<boolean> => {
      // A child that is gone is noticed by the end of its output.
      await writer.write(new TextEncoder().encode(text)).catch(() => {});
      while (!heard.includes(`${wanted}\n`)) {
        const { done, value } = await lines.read();
        if (done) return false;
        heard += value;
      }
      return true;
    },
    end: async (): Promise<{ readonly exit: ProcessExit; readonly stderr: string }> => {
      await writer.close().catch(() => {});
      const exit = await child.exited;
      cancel();
      await lines.cancel();
      return { exit, stderr: await complaint };
    },
  };
}

function describeExit(exit: ProcessExit): string {
  return exit.signal === undefined ? `ended with code ${exit.code}` : `was ended by ${exit.signal}`;
}

/** Returns the index file that only fleetctl uses. */
export function indexFile(paths: Paths): string {
  return `${paths.repo}/.git/fleetctl.index`;
}

function gitRefusal(paths: Paths, command: string, how: string, stderr: string): Refusal {
  const lines = stderr.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  const isFull = /No space left on device|Disk quota exceeded/.test(stderr);
  return isFull
    ? refusal(
      "disk-full",
      `Cannot write the ledger: no space is left on the disk at "${paths.repo}", ` +
        "kept the old state",
      { hints: [`df -h ${paths.repo}`] },
    )
    : refusal("git-failed", `Cannot use the ledger "${paths.repo}": git ${command} ${how}`, {
      details: lines.slice(0, COMPLAINT_LINES_MAX),
      hints: [`git -C ${paths.repo} status`, `git -C ${paths.repo} fsck`],
    });
}
