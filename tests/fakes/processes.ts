/**
 * Programs that are functions. A fake program gets what a real one gets (arguments, environment,
 * streams, signals) and returns its exit code. A program that is not in the table does not exist.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { FileFault } from "core/ports/files.ts";
import type { Processes, ProcessExit, ProcessSpec } from "core/ports/processes.ts";
import type { StartedChild } from "core/os/child.ts";
import { runToEnd } from "core/os/run_to_end.ts";

/** What a fake program can use. */
export interface FakeCall extends ProcessSpec {
  readonly stdin: ReadableStream<Uint8Array>;
  /** Reads standard input to its end. */
  input(): Promise<string>;
  /** Writes to standard output. */
  print(text: string): Promise<void>;
  /** Writes to standard error. */
  warn(text: string): Promise<void>;
  /** Aborts when the program is signalled; a program that does not return is then ended. */
  readonly killed: AbortSignal;
}

/** A fake program; no return value means exit code 0. */
export type FakeProgram = (call: FakeCall) => number | void | Promise<number | void>;

/** The fake processes and a record of those that were started. */
export interface FakeProcesses extends Processes {
  /** Every program started, oldest first. */
  readonly calls: readonly ProcessSpec[];
}

/** Creates processes from a table: absolute path or bare name → program. */
export function fakeProcesses(
  table: Readonly<Record<string, FakeProgram>> = {},
): FakeProcesses {
  const calls: ProcessSpec[] = [];
  let pid = 1000;
  const find = (command: string) =>
    table[command] ?? table[command.slice(command.lastIndexOf("/") + 1)];
  const start = (spec: ProcessSpec): StartedChild => {
    const program = find(spec.command);
    if (program === undefined) {
      throw new FileFault(
        "ENOENT",
        spec.command,
        `Cannot start ${JSON.stringify(spec.command)}: no such program`,
      );
    }
    const { command, args, env, cwd } = spec;
    const plain = { command, args, env, ...defined({ cwd }) };
    calls.push(plain);
    return startFake(plain, program, pid++);
  };
  return {
    calls,
    run: async (spec) => await runToEnd(start(spec), spec),
    spawn: async (spec) => start(spec),
    which: async (...names) => {
      for (const name of names) {
        const key = Object.keys(table).find((path) => path === name || path.endsWith(`/${name}`));
        if (key !== undefined) return key.startsWith("/") ? key : `/usr/bin/${key}`;
      }
      return undefined;
    },
  };
}

function startFake(spec: ProcessSpec, program: FakeProgram, pid: number): StartedChild {
  const stdin = new TransformStream<Uint8Array, Uint8Array>(undefined, { highWaterMark: 1 });
  const stdout = outputPipe();
  const stderr = outputPipe();
  const killed = new AbortController();
  const signalled = Promise.withResolvers<ProcessExit>();
  const finished = Promise.resolve().then(() =>
    program({
      ...spec,
      stdin: stdin.readable,
      input: () => new Response(stdin.readable as ReadableStream<Uint8Array<ArrayBuffer>>).text(),
      print: stdout.write,
      warn: stderr.write,
      killed: killed.signal,
    })
  ).then(
    (code): ProcessExit => ({ code: code ?? 0, signal: undefined }),
    async (thrown): Promise<ProcessExit> => {
      await stderr.write(`${thrown instanceof Error ? thrown.stack : thrown}\n`);
      return { code: 70, signal: undefined };
    },
  );
  const exited = Promise.race([finished, signalled.promise]).then((exit) => {
    stdout.close();
    stderr.close();
    return exit;
  });
  return {
    pid,
    stdin: stdin.writable,
    stdout: stdout.readable,
    stderr: stderr.readable,
    exited,
    kill: (signal) => {
      killed.abort(signal);
      signalled.resolve({ code: undefined, signal });
    },
    family: () => [],
  };
}

/** A pipe whose writer never blocks: a fake program may print before anyone reads. */
function outputPipe() {
  const encoder = new TextEncoder();
  let isOpen = true;
  let controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined;
  const readable = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (given) => {
      controller = given;
    },
    cancel: () => {
      isOpen = false;
    },
  });
  return {
    readable,
    write: (text: string) => {
      if (isOpen) controller?.enqueue(encoder.encode(text));
      return Promise.resolve();
    },
    close: () => {
      if (isOpen) controller?.close();
      isOpen = false;
    },
  };
}
