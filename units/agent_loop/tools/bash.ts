/**
 * The tool `bash`: one command in a separate process group, with limits on time and output. The
 * group ends with the command, a cancel, the time limit, and the runtime. This includes a killed
 * runtime: a watcher in the group reads the runtime's end of a pipe. The environment is the agent's
 * without the keys of the model, because no tool needs them. With a sandbox (ADR 0038), a command
 * sees only the folders of its view and none of the agent's keys.
 *
 * @module
 */

import * as z from "zod";
import { errorText, type Refusal } from "core/errors.ts";
import { RUNTIME_LIMITS } from "units/agent_loop/limits.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Child, Processes } from "core/ports/processes.ts";
import { createOutputBuffer } from "units/agent_loop/tools/output_buffer.ts";
import {
  checkInput,
  failed,
  resolvePath,
  type Tool,
  type ToolFolders,
  type ToolOutcome,
} from "units/agent_loop/tools/tool.ts";

const BASH = "/bin/bash";
const DEFAULT_SECONDS = 120;
/** Time that a command has to clean up after SIGTERM. */
const TERM_MS = 2_000;
/** How long to wait for a pipe that a child in another session keeps open. */
const DRAIN_MS = 1_000;
const COMMAND_LENGTH_MAX = 100_000;
/** Exit code of a shell whose last command was killed with SIGKILL: 128 plus the signal. */
const KILLED = 137;
const KILLED_WHY = "a process was killed, as the system does when memory runs out";

/**
 * Runs `$1` with no stdin. The wrapper's stdin is a pipe from the runtime, and the watcher reads
 * it. When the runtime ends, the pipe ends, and the watcher kills the whole group. When the agent's
 * memory runs out, the kernel kills the command before the runtime.
 */
const WRAPPER = `
exec 3<&0 </dev/null
( exec </dev/null >/dev/null 2>&1; read -r -u 3 _; kill -KILL 0 ) &
exec 3<&-
{ echo 500 > /proc/self/oom_score_adj; } 2>/dev/null
exec ${BASH} -c "$1"
`;

/**
 * The same in a sandbox, whose words follow the command. bubblewrap ends with this shell and, with
 * it, every process inside. The runtime cannot be its parent, because that rule is about threads.
 */
const SANDBOXED = WRAPPER.replace(
  `exec ${BASH} -c "$1"`,
  `command=$1; shift; "$@" ${BASH} -c "$command"; exit $?`,
);

const input = z.object({
  command: z.string().min(1).max(COMMAND_LENGTH_MAX),
  timeout_seconds: z.number().positive().max(RUNTIME_LIMITS.bashSeconds).optional(),
  cwd: z.string().min(1).optional(),
});

/** Dependencies of the tool. */
export interface BashPorts {
  readonly processes: Processes;
  readonly clock: Clock;
}

/** The confinement of commands. */
export interface BashSandbox {
  /** Returns why no sandbox can be built; undefined when it can. */
  check(): Promise<Refusal | undefined>;
  /** Returns the words that precede a command in a working folder. */
  words(cwd: string): readonly string[];
}

/** Creates the tool `bash`; without a sandbox, a command has the rights of the agent's user. */
export function bashTool(
  folders: ToolFolders,
  env: Readonly<Record<string, string>>,
  ports: BashPorts,
  sandbox?: BashSandbox,
): Tool {
  return {
    name: "bash",
    tool: "bash",
    mcp: undefined,
    kind: "execute",
    isConcurrent: false,
    description: "Runs a command with bash and returns its output and exit code. " +
      `Output past ${RUNTIME_LIMITS.bashOutputBytesMax} bytes is left out in the middle. ` +
      (sandbox === undefined
        ? "Processes left in the background end with the command; setsid keeps one alive."
        : SANDBOX_TEXT),
    inputSchema: {
      type: "object",
      properties: {
        command: { type: "string", description: "The command line" },
        timeout_seconds: {
          type: "number",
          description: `Time limit, at most ${RUNTIME_LIMITS.bashSeconds}, ` +
            `${DEFAULT_SECONDS} when left out`,
        },
        cwd: { type: "string", description: "Working folder; the agent's own when left out" },
      },
      required: ["command"],
      additionalProperties: false,
    },
    async run(given, signal) {
      const checked = checkInput(input, given);
      if (!checked.ok) return failed(checked.error);
      const { command, timeout_seconds, cwd } = checked.value;
      if (signal.aborted) return { status: "stopped", text: "[cancelled before it began]" };
      const refused = await sandbox?.check();
      if (refused !== undefined) return failed(refusalText(refused));
      const folder = cwd === undefined ? folders.cwd : resolvePath(cwd, folders);
      let child: Child;
      try {
        child = await ports.processes.spawn({
          command: BASH,
          args: sandbox === undefined
            ? ["-c", WRAPPER, "bash", command]
            : ["-c", SANDBOXED, "bash", command, ...sandbox.words(folder)],
          env,
          cwd: sandbox === undefined ? folder : "/",
          group: true,
        });
      } catch (error) {
        return failed(errorText(error));
      }
      return await runCommand(child, {
        seconds: timeout_seconds ?? DEFAULT_SECONDS,
        signal,
        clock: ports.clock,
      });
    },
  };
}

const SANDBOX_TEXT =
  "It runs in a sandbox: it sees /usr, an empty home, a private /tmp, and the workspace, " +
  "which is the only folder that keeps files. All its processes end with the command.";

function refusalText({ code, message, hints }: Refusal): string {
  return [`${message} (${code})`, ...hints.map((hint) => `hint: ${hint}`)].join("\n");
}

async function runCommand(
  child: Child,
  limits: { readonly seconds: number; readonly signal: AbortSignal; readonly clock: Clock },
): Promise<ToolOutcome> {
  const { clock, signal, seconds } = limits;
  const output = createOutputBuffer(RUNTIME_LIMITS.bashOutputBytesMax);
  const drained = Promise.all([drain(child.stdout, output), drain(child.stderr, output)]);
  let isTimedOut = false;
  let stopKill = () => {};
  const end = () => {
    child.kill("SIGTERM");
    stopKill = clock.after(TERM_MS, () => child.kill("SIGKILL"));
  };
  const stopTimeout = clock.after(seconds * 1000, () => {
    isTimedOut = true;
    end();
  });
  signal.addEventListener("abort", end, { once: true });
  const exit = await child.exited;
  stopTimeout();
  stopKill();
  signal.removeEventListener("abort", end);
  // Ends the watcher and the background processes of the command.
  child.kill("SIGKILL");
  const enough = new AbortController();
  await Promise.race([drained, clock.sleep(DRAIN_MS, enough.signal)]);
  enough.abort();
  await child.stdin.abort().catch(() => {
    // The watcher has ended, so the pipe has no reader.
  });
  const text = output.text();
  if (signal.aborted) return { status: "stopped", text: joined(text, "[cancelled]") };
  if (isTimedOut) return failed(joined(text, `[ended after ${seconds} s, the time limit]`));
  if (exit.code === 0) return { status: "completed", text };
  const how = exit.code === undefined ? `signal ${exit.signal}` : `exit code ${exit.code}`;
  const isKilled = exit.signal === "SIGKILL" || exit.code === KILLED;
  return failed(joined(text, isKilled ? `[${how}: ${KILLED_WHY}]` : `[${how}]`));
}

async function drain(
  stream: ReadableStream<Uint8Array>,
  output: { add(chunk: Uint8Array): void },
): Promise<void> {
  try {
    for await (const chunk of stream) output.add(chunk);
  } catch {
    // The pipe broke with the process; earlier output is kept.
  }
}

function joined(text: string, note: string): string {
  return text === "" ? note : `${text.trimEnd()}\n${note}`;
}
