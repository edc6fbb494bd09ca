/**
 * What a verb is given: the machine behind ports, the root's layout, who acts and on what.
 * Types, and the one composition of a context. A verb takes nothing from anywhere else.
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
import type { Target } from "core/verbs/rewrite.ts";
import type { VerbPorts } from "cli/verb_ports.ts";

/** What a verb gets besides its options. */
export interface VerbContext {
  readonly ports: VerbPorts;
  readonly paths: Paths;
  readonly caller: Caller;
  readonly target: Target;
  /** What was typed, as one line for a shell: no secret value, and an agent's name for `self`. */
  readonly typed: string;
  readonly version: string;
  /** The environment of this program; what may not be read is absent. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly terminal: Terminal;
  readonly progress: Progress;
  /** Splits an argument list, for verbs that are given one. */
  readonly tokenize: Tokenize;
  /** Prints while the verb runs; for verbs that stay in the foreground. */
  write(text: string): Promise<void>;
  /** From now on Ctrl-C and SIGTERM abort this signal instead of ending the program. */
  takeOverStop(): AbortSignal;
  /** Asks for a line; undefined when there is no terminal to ask on. */
  promptLine(label: string): Promise<string | undefined>;
  /** The value that a secret option stands for, already read from stdin or the prompt. */
  readonly secretValue: string | undefined;
}

/** One verb's file: `parseOptions` never acts, `run` never parses. */
export interface Command<Options> {
  parseOptions(invocation: Invocation): Result<Options>;
  run(context: VerbContext, options: Options): Promise<Result<VerbReport>>;
}

/** What the program that runs verbs is given by its composition root. */
export interface CliDeps {
  readonly version: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly terminal: Terminal;
  readonly tokenize: Tokenize;
  takeOverStop(): AbortSignal;
  /** Opens the machine; not called for help and for what needs none. */
  openPorts(): Promise<VerbPorts>;
  out(text: string): Promise<void>;
  err(text: string): Promise<void>;
  /** All of stdin as text, bounded. */
  readStdin(bytesMax: number): Promise<Result<string>>;
  /** Asks without echo; undefined when there is no terminal to ask on. */
  promptSecret(label: string): Promise<string | undefined>;
  /** Asks for a line; undefined when there is no terminal to ask on. */
  promptLine(label: string): Promise<string | undefined>;
}
