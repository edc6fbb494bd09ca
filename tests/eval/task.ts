/**
 * A task of the evaluation: files, messages of the owner, a checker, and two scripts. The checker
 * must accept the script that does the task and refuse the other one.
 *
 * @module
 */

import type { ModelReply, ModelRequest } from "tests/fakes/model_endpoint.ts";

/** One answer of a scripted model, or a function that chooses it from the request. */
export type ScriptStep = ModelReply | ((request: ModelRequest) => ModelReply);

/** The MCP servers that a task can use; see `tests/eval/office_server.ts`. */
export type OfficeServer = "contacts" | "calendar" | "tickets";

/** A task. */
export interface EvalTask {
  readonly name: string;
  /** Files of the workspace before the task, by relative path. */
  readonly files: Readonly<Record<string, string>>;
  readonly servers?: readonly OfficeServer[];
  /** Settings of the runtime that the task needs, such as a small window. */
  readonly env?: Readonly<Record<string, string>>;
  /** Messages of the owner, one turn each, in one conversation. */
  readonly prompts: readonly string[];
  /** A model that does the task. */
  readonly script: readonly ScriptStep[];
  /** A model that makes a mistake, and what the checker must say about it. */
  readonly mistake: { readonly script: readonly ScriptStep[]; readonly fault: RegExp };
  /** Returns what is wrong; undefined when the task is done. */
  check(done: TaskEnd): Promise<string | undefined> | string | undefined;
}

/** One call of the agent. */
export interface CallEnd {
  /** Catalog name; undefined for a built-in tool. */
  readonly mcp: string | undefined;
  readonly tool: string;
  readonly status: string;
}

/** What a checker can inspect. */
export interface TaskEnd {
  readonly workspace: string;
  /** The agent's text of the last turn. */
  readonly answer: string;
  readonly calls: readonly CallEnd[];
  /** Changes that a server made, in order. */
  changes(server: OfficeServer): Promise<readonly unknown[]>;
  /** Returns a file of the workspace; undefined if there is none. */
  read(path: string): Promise<string | undefined>;
  /** Requests to the scripted model; undefined with a real one. */
  readonly requests: readonly ModelRequest[] | undefined;
}

/** Returns a step with one call. */
export function call(tool: string, args: unknown): ModelReply {
  return { kind: "answer", calls: [{ tool, arguments: args }] };
}

/** Returns the last step of a turn. */
export function say(text: string): ModelReply {
  return { kind: "answer", text };
}

/** Returns the first change of the given files; undefined if all are as before. */
export async function firstChanged(
  done: TaskEnd,
  files: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  for (const [path, text] of Object.entries(files)) {
    if (await done.read(path) !== text) return `${path} was changed`;
  }
  return undefined;
}

/** Runs a shell command in a folder; returns its output without the last line break. */
export async function shell(folder: string, command: string): Promise<string> {
  const { stdout, stderr } = await new Deno.Command("sh", {
    args: ["-c", command],
    cwd: folder,
    stdout: "piped",
    stderr: "piped",
  }).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return (decode(stdout) + decode(stderr)).trimEnd();
}
