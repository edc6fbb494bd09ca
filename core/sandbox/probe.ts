/**
 * Tries the sandbox of an agent's commands: whether this host builds it for this process.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { Processes } from "core/ports/processes.ts";
import { sandboxEnv, type SandboxView, sandboxWords } from "core/sandbox/command_sandbox.ts";

/** A start takes milliseconds. */
const PROBE_MS = 10_000;
const REASON_LENGTH_MAX = 300;

/** Builds the sandbox around a program that does nothing; returns why it cannot be built. */
export async function probeSandbox(
  processes: Pick<Processes, "run">,
  view: SandboxView,
  env: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const [command = "", ...args] = [...sandboxWords(view, "/"), "/bin/true"];
  try {
    const ended = await processes.run({
      command,
      args,
      env: sandboxEnv(env, view),
      cwd: "/",
      timeoutMs: PROBE_MS,
    });
    if (ended.code === 0) return undefined;
    if (ended.timedOut) return `bubblewrap did not start within ${PROBE_MS / 1000} s`;
    const words = ended.stderr.replace(/\p{Cc}+/gu, " ").trim().slice(0, REASON_LENGTH_MAX);
    return words === "" ? `bubblewrap ended with ${ended.code ?? ended.signal}` : words;
  } catch (thrown) {
    return errorText(thrown);
  }
}
