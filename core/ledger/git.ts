/**
 * Runs git on the ledger only. Git directory and work tree are explicit, so that a missing `.git`
 * never leads to a repository further up. The environment contains only the variables set here. No
 * hook, pager, prompt or configuration outside the repository takes effect.
 *
 * A separate index file keeps fleetctl's writes apart from a person's `git status`.
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

/** The ports that the ledger needs. */
export interface LedgerPorts {
  readonly files: Files;
  readonly processes: Processes;
  readonly clock: Clock;
  readonly log: Log;
}

/** A prepared move of `HEAD`: it holds its locks and disk space, and moves with `commit`. */
export interface PreparedHead {
  /** Moves `HEAD`; needs no more disk space. */
  commit(): Promise<Result<void>>;
  /** Releases the locks without moving `HEAD`. */
  abort(): Promise<void>;
}

/** The git program, bound to one ledger. */
export interface Git {
  /** Runs one command. If it fails, the refusal has git's stderr as details. */
  run(
    args: readonly string[],
    options?: { readonly input?: string; readonly usesDefaultIndex?: boolean },
  ): Promise<Result<string>>;
  /**
   * Prepares the move of `HEAD` from `old` to `commit`. If this process dies first, git sees the
   * end of its input and releases its locks.
   */
  prepareHead(commit: string, old: string): Promise<Result<PreparedHead>>;
}

/** A git command on a ledger takes milliseconds; this limit is for a hanging disk. */
const COMMAND_MS_MAX = 60_000;
/** Lines of git's stderr that are shown. */
const STDERR_LINES_MAX = 5;
/** Settings for each command; they override the repository's own configuration. */
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
  // The reflog would be written after the files are switched, and need disk space then.
  "core.logAllRefUpdates=false",
  "commit.gpgSign=false",
  "gc.auto=2000",
  "gc.autoDetach=false",
  // A reported commit must survive a power cut.
  "core.fsync=loose-object,pack,reference",
] as const;

/** Finds git on the PATH and binds it to the ledger under `paths`. */
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
  const specOf = (args: readonly string[], usesDefaultIndex = false): ProcessSpec => ({
    command: program,
    args: [...base, ...args],
    cwd: paths.repo,
    env: environment(ports, usesDefaultIndex ? undefined : indexFile(paths)),
  });
  return ok({
    run: async (args, options = {}) => {
      const ended = await ports.processes.run({
        ...specOf(args, options.usesDefaultIndex),
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
      // A separate process group: fleetctl handles a Ctrl-C at the terminal, git does not get it.
      const spec = specOf(["update-ref", "--stdin"]);
      const child = await ports.processes.spawn({ ...spec, group: true });
      const exchange = startExchange(ports.clock, child);
      const prepared = await exchange.send(
        `start\nupdate HEAD ${commit} ${old}\nprepare\n`,
        "prepare: ok",
      );
      const fail = async () => {
        const { exit, stderr } = await exchange.end();
        return err(gitRefusal(paths, "update-ref", describeExit(exit), stderr));
      };
      if (!prepared) return await fail();
      return ok({
        commit: async () => {
          if (!await exchange.send("commit\n", "commit: ok")) return await fail();
          await exchange.end();
          return ok(undefined);
        },
        abort: async () => {
          await exchange.end();
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

/** Talks to a child over its pipes; kills a child that runs longer than `COMMAND_MS_MAX`. */
function startExchange(clock: Clock, child: Child) {
  const writer = child.stdin.getWriter();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const stderrText = new Response(child.stderr).text();
  const cancel = clock.after(COMMAND_MS_MAX, () => child.kill("SIGKILL"));
  let received = "";
  return {
    /** Writes a text and waits for a line; returns false if the child ends instead. */
    send: async (text: string, wanted: string): Promise<boolean> => {
      // The end of the child's output shows that it has exited.
      await writer.write(new TextEncoder().encode(text)).catch(() => {});
      while (!received.includes(`${wanted}\n`)) {
        const { done, value } = await lines.read();
        if (done) return false;
        received += value;
      }
      return true;
    },
    end: async (): Promise<{ readonly exit: ProcessExit; readonly stderr: string }> => {
      await writer.close().catch(() => {});
      const exit = await child.exited;
      cancel();
      await lines.cancel();
      return { exit, stderr: await stderrText };
    },
  };
}

function describeExit(exit: ProcessExit): string {
  return exit.signal === undefined
    ? `ended with code ${exit.code}`
    : `was killed by ${exit.signal}`;
}

/** Returns the path of the index file that only fleetctl uses. */
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
      details: lines.slice(0, STDERR_LINES_MAX),
      hints: [`git -C ${paths.repo} status`, `git -C ${paths.repo} fsck`],
    });
}
