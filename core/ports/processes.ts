/**
 * The port that starts programs.
 *
 * @module
 */

/** A program to start: argv only, never a shell; the environment is exactly `env`. */
export interface ProcessSpec {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** How a process ended: exactly one of the two is set. */
export interface ProcessExit {
  readonly code: number | undefined;
  readonly signal: string | undefined;
}

/** A running child with piped stdio. */
export interface Child {
  readonly pid: number;
  readonly stdin: WritableStream<Uint8Array>;
  readonly stdout: ReadableStream<Uint8Array>;
  readonly stderr: ReadableStream<Uint8Array>;
  /** Resolves when the process has ended; never rejects. */
  readonly exited: Promise<ProcessExit>;
  /**
   * Sends a signal to the child, or to its whole group when it was started as one; no
   * fault when it is gone.
   */
  kill(signal: "SIGTERM" | "SIGKILL" | "SIGINT"): void;
}

/** Starting programs. */
export interface Processes {
  /**
   * Runs to the end with `input` on stdin. Output past `outputBytesMax` (default 8 MiB) ends the
   * child and is reported as truncated.
   */
  run(
    spec: ProcessSpec & {
      readonly input?: string;
      readonly timeoutMs?: number;
      readonly outputBytesMax?: number;
      readonly signal?: AbortSignal;
    },
  ): Promise<
    ProcessExit & {
      readonly stdout: string;
      readonly stderr: string;
      readonly truncated: boolean;
      readonly timedOut: boolean;
    }
  >;
  /**
   * Starts a child with three pipes; `group` puts it at the head of a process group of its own.
   * Rejects when the program cannot be started.
   */
  spawn(spec: ProcessSpec & { readonly group?: boolean }): Promise<Child>;
  /** Names the first of `names` found on the PATH of this process, as an absolute path. */
  which(...names: readonly string[]): Promise<string | undefined>;
}
