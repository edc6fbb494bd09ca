/**
 * Starts one program as the leader of its own session and process group. Its output is read as
 * lines; the server of a connection gets the connection as stdin and stdout. `node:child_process`
 * is used because it can pass a socket to a child; raw descriptors lost data.
 *
 * @module
 */

import { spawn, type StdioOptions } from "node:child_process";
import type { Socket } from "node:net";
import type { ProcessExit } from "core/ports/processes.ts";
import { LineSplitter } from "core/text/lines.ts";
import type { Kernel } from "units/manager/os/processes/kernel.ts";
import { parseStat, type ProcessName } from "core/os/proc.ts";
import { UNIT_LOG_LIMITS } from "units/manager/os/runs/unit_log.ts";

/** A program to start. */
export interface ChildPlan {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly umask: number;
  /** Passed to the child as stdin and stdout; the caller must still close its own end. */
  readonly connection: Socket | undefined;
  /** Called in the same turn in which the child is started. */
  readonly onStarted: (process: ProcessName) => void;
  readonly onLines: (lines: readonly string[], stream: "stdout" | "stderr") => void;
}

/** A started child. */
export interface StartedChild extends ProcessName {
  /** Resolves when the process has ended; never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** Resolves when every process that holds its output has closed it. */
  readonly outputEnded: Promise<void>;
  /** Stops reading the output, even if processes still hold it. */
  dropOutput(): void;
}

/** Starts a program; rejects with one sentence when it cannot be started. */
export async function startChild(kernel: Kernel, plan: ChildPlan): Promise<StartedChild> {
  const stdio: StdioOptions = plan.connection === undefined
    ? ["ignore", "pipe", "pipe"]
    : [plan.connection, plan.connection, "pipe"];
  // Children must not inherit the manager's listening sockets or the connections of other children.
  kernel.keepDescriptors();
  // The umask applies to this one call only: the child is forked before `spawn` returns.
  const child = kernel.withUmask(plan.umask, () =>
    spawn(plan.program, [...plan.args], {
      detached: true,
      env: { ...plan.env },
      cwd: plan.cwd,
      stdio,
    }));
  const { pid } = child;
  if (pid === undefined) {
    const failure = await new Promise<Error>((resolve) => child.once("error", resolve));
    throw new Error(`Cannot start ${JSON.stringify(plan.program)}: ${startFault(failure)}`);
  }
  child.on("error", () => {});
  const exited = new Promise<ProcessExit>((resolve) => {
    child.once(
      "exit",
      (code, signal) => resolve({ code: code ?? undefined, signal: signal ?? undefined }),
    );
  });
  // A child that has already ended is a zombie until it is reaped, so its stat is still readable.
  const start = parseStat(kernel.readProc(`/proc/${pid}/stat`) ?? "")?.start ?? "0";
  plan.onStarted({ pid, start });
  const outputs = [child.stdout, child.stderr].filter((stream) => stream !== null);
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  for (const stream of outputs) {
    readLines(
      stream,
      (lines) => plan.onLines(lines, stream === child.stderr ? "stderr" : "stdout"),
    );
  }
  return {
    pid,
    start,
    exited,
    outputEnded: closed,
    dropOutput: () => outputs.forEach((stream) => stream.destroy()),
  };
}

function readLines(
  stream: NonNullable<ReturnType<typeof spawn>["stdout"]>,
  onLines: (lines: readonly string[]) => void,
): void {
  const { lineBytesMax } = UNIT_LOG_LIMITS;
  const splitter = new LineSplitter({ lineBytesMax, longLines: "split" });
  const decoder = new TextDecoder();
  const pass = (lines: Iterable<Uint8Array>) => {
    onLines(Array.from(lines, (line) => decoder.decode(line)));
  };
  stream.on("data", (chunk: Uint8Array) => pass(splitter.push(chunk)));
  stream.on("error", () => {});
  stream.once("close", () => pass(splitter.end()));
}

function startFault(thrown: Error): string {
  const code = (thrown as { code?: unknown }).code;
  if (thrown.name === "NotCapable") return "outside the permission set of this program";
  if (code === "ENOENT") return "no such program or working directory";
  return code === "EACCES" ? "not executable for this user" : thrown.message;
}
