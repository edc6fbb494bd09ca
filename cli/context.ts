/**
 * What a verb receives: the machine behind ports, the layout of the root, the caller and the
 * target. Contains types and the only function that builds a context. A verb has no other inputs.
 *
 * @module
 */

import type { VerbReport } from "cli/output.ts";
import type { Progress } from "cli/progress.ts";
import type { Paths } from "core/paths.ts";
import type { Result } from "core/result.ts";
import type { Caller } from "core/verbs/caller.ts";
import type { Terminal } from "core/verbs/daemon_frames.ts";
import type { Invocation, Tokenize } from "core/verbs/invocation.ts";
import type { Target } from "core/verbs/target.ts";
import type { VerbPorts } from "cli/verb_ports.ts";

/** What a verb receives besides its options. */
export interface VerbContext {
  readonly ports: VerbPorts;
  readonly paths: Paths;
  readonly caller: Caller;
  readonly target: Target;
  /**
   * The typed command as one shell line. Secret values are left out, and `self` is replaced by the
   * agent's name.
   */
  readonly typed: string;
  readonly version: string;
  /** The environment of this program. Variables that it may not read are absent. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly terminal: Terminal;
  readonly progress: Progress;
  /** Splits a command line into arguments, for verbs that accept one. */
  readonly tokenize: Tokenize;
  /** Prints while the verb runs. For verbs that stay in the foreground. */
  write(text: string): Promise<void>;
  /** After this call Ctrl-C and SIGTERM abort the returned signal instead of ending the program. */
  takeOverStop(): AbortSignal;
  /** Prompts for a line; undefined when there is no terminal. */
  promptLine(label: string): Promise<string | undefined>;
  /** Opens stdin, for a verb that serves its client. Called at most once. */
  openStdin(): ReadableStream<Uint8Array>;
  /** The value of a secret option, already read from stdin or the prompt. */
  readonly secretValue: string | undefined;
}

/** The contract of a verb's file: `parseOptions` performs no action, and `run` parses nothing. */
export interface Command<Options> {
  parseOptions(invocation: Invocation): Result<Options>;
  run(context: VerbContext, options: Options): Promise<Result<VerbReport>>;
}

/** Dependencies of the program that runs verbs; its composition root provides them. */
export interface CliDeps {
  readonly version: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly terminal: Terminal;
  readonly tokenize: Tokenize;
  takeOverStop(): AbortSignal;
  /** Opens the machine. Not called for help and for verbs that need no machine. */
  openPorts(): Promise<VerbPorts>;
  out(text: string): Promise<void>;
  err(text: string): Promise<void>;
  /** Reads all of stdin as text, up to `bytesMax` bytes. */
  readStdin(bytesMax: number): Promise<Result<string>>;
  /** Opens stdin as bytes; nothing else reads it then. */
  openStdin(): ReadableStream<Uint8Array>;
  /** Prompts without echo; undefined when there is no terminal, or after Ctrl-C. */
  promptSecret(label: string): Promise<string | undefined>;
  /** Prompts for a line; undefined when there is no terminal. */
  promptLine(label: string): Promise<string | undefined>;
}
