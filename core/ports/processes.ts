/**
 * The port that starts programs.
 *
 * @module
 */

/** A program to start: argv only, never a shell. Its environment is exactly `env`. */
export interface ProcessSpec {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** How a process ended: exactly one of the two fields is set. */
export interface ProcessExit {
  readonly code: number | undefined;
  readonly signal: string | undefined;
}

/** A process that a child started, directly or not. */
export interface FamilyMember {
  readonly pid: number;
  readonly parent: number;
  /** Clock ticks between boot and start; identifies a process with its pid until the next boot. */
  readonly start: string;
  readonly args: readonly string[];
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
   * Signals the child, or its whole group when it was started with `group`. No error when it has
   * ended.
   */
  kill(signal: "SIGTERM" | "SIGKILL" | "SIGINT"): void;
  /**
   * Returns the running members of its group and its descendants, without the child itself.
   * Undefined when they cannot be read. Only for a child that was started with `group`.
   */
  family(): readonly FamilyMember[] | undefined;
}

/** Starts programs. */
export interface Processes {
  /**
   * Runs a program to its end with `input` on stdin. Output above `outputBytesMax` (default 8 MiB)
   * ends the child and is reported as truncated.
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
   * Starts a child with three pipes. `group` makes it the leader of a new process group. Rejects
   * when the program cannot be started.
   */
  spawn(spec: ProcessSpec & { readonly group?: boolean }): Promise<Child>;
  /** Returns the first of `names` found on this process's PATH, as an absolute path. */
  which(...names: readonly string[]): Promise<string | undefined>;
}
