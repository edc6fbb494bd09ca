/**
 * A real agent program without fleetctl: started with the arguments of its runtime definition, it
 * gets messages over its own protocol on stdio.
 *
 * @module
 */

import { fillPlaceholders } from "core/runtimes/definition.ts";
import type { RuntimeProgram } from "tests/support/runtime_programs.ts";

/** Where the program runs. */
export interface ProgramPlace {
  readonly command: string;
  readonly home: string;
  readonly lib: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The running program. */
export interface ProgramAlone extends AsyncDisposable {
  /** Sends a message; resolves when the turn has ended, with the time to its first token in ms. */
  readonly say: (text: string) => Promise<number>;
}

/** One protocol: the line of a message, and what a line of the program means. */
interface LineProtocol {
  /** Argument with which the program resumes its last conversation. */
  readonly resume: string;
  readonly message: (text: string) => unknown;
  // deno-lint-ignore no-explicit-any -- lines of two programs.
  readonly meaning: (line: any) => "token" | "end" | undefined;
}

const PROTOCOLS: Readonly<Record<string, LineProtocol>> = {
  stream_json: {
    resume: "--continue",
    message: (text) => ({
      type: "user",
      message: { role: "user", content: [{ type: "text", text }] },
      parent_tool_use_id: null,
    }),
    meaning: ({ type, event }) =>
      type === "result" ? "end" : event?.delta?.type === "text_delta" ? "token" : undefined,
  },
  rpc_jsonl: {
    resume: "--continue",
    message: (text) => ({ type: "prompt", message: text }),
    meaning: ({ type, assistantMessageEvent: delta }) =>
      type === "agent_settled" ? "end" : delta?.type === "text_delta" ? "token" : undefined,
  },
};

/** Starts the program. */
export function startProgramAlone(
  program: RuntimeProgram,
  { command, home, lib, env }: ProgramPlace,
  { resumes }: { readonly resumes: boolean },
): ProgramAlone {
  const definition = program.definition();
  const protocol = PROTOCOLS[definition.protocol];
  if (protocol === undefined) throw new Error(`no peer speaks ${definition.protocol}`);
  const child = new Deno.Command(command, {
    args: [
      ...definition.args.map((arg) => fillPlaceholders(arg, { lib, home, agent: "ada" })),
      ...(resumes ? [protocol.resume] : []),
    ],
    cwd: `${home}/workspace`,
    clearEnv: true,
    env: { HOME: home, PATH: "/usr/bin:/bin", ...definition.env, ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  const lines = child.stdout.pipeThrough(new TextDecoderStream())
    .pipeThrough(linesOf()).getReader();
  const write = (line: unknown) =>
    writer.write(new TextEncoder().encode(`${JSON.stringify(line)}\n`));
  return {
    async say(text) {
      const started = performance.now();
      await write(protocol.message(text));
      let first = NaN;
      while (true) {
        const { value, done } = await lines.read();
        if (done) throw new Error(`${program.name} ended before its turn`);
        const meaning = protocol.meaning(JSON.parse(value));
        if (meaning === "token" && Number.isNaN(first)) first = performance.now() - started;
        if (meaning !== "end") continue;
        if (Number.isNaN(first)) throw new Error(`${program.name} gave no token: ${value}`);
        return first;
      }
    },
    async [Symbol.asyncDispose]() {
      await writer.close();
      await child.status;
      await lines.cancel();
    },
  };
}

function linesOf(): TransformStream<string, string> {
  let rest = "";
  return new TransformStream({
    transform(chunk, controller) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line.trim() !== "") controller.enqueue(line);
    },
  });
}
