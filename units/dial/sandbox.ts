/**
 * The sandbox of commands in a dial unit. At its start the unit tries whether it can be built, for
 * `fleetctl status`; the runtime tries it again before its first command. The unit's own programs
 * for worktrees also run in it: a command of the agent could have left a filter for git or changed
 * the set-up script.
 *
 * @module
 */

import type { ReportedSandbox } from "core/dial/host_state.ts";
import type { Processes, ProcessSpec } from "core/ports/processes.ts";
import { agentView, findSandboxFault } from "core/sandbox/agent_view.ts";
import { sandboxEnv, sandboxWords } from "core/sandbox/command_sandbox.ts";
import type { DialConfig } from "units/dial/config.ts";
import { indexFolder } from "units/dial/worktrees/record.ts";

/** Variables of git and of set-up scripts, besides those of every command. */
const PASSED: ReadonlySet<string> = new Set([
  "LC_ALL",
  "GIT_TERMINAL_PROMPT",
  "GIT_SSH_COMMAND",
  "GIT_AUTHOR_NAME",
  "GIT_AUTHOR_EMAIL",
  "GIT_COMMITTER_NAME",
  "GIT_COMMITTER_EMAIL",
  "GIT_INDEX_FILE",
  "FLEETCTL_CONVERSATION",
  "FLEETCTL_WORKSPACE",
  "FLEETCTL_REPOSITORY",
]);

type Programs = Pick<Processes, "run" | "spawn">;

/** Returns the processes with which worktrees are made; confined for an agent with a sandbox. */
export function worktreePrograms(
  { agent, paths, sandbox }: Pick<DialConfig, "agent" | "paths" | "sandbox">,
  processes: Programs,
): Programs {
  if (sandbox === undefined) return processes;
  const view = agentView({ agent, paths, home: paths.home(agent), ...sandbox });
  const writable = [...view.writable, indexFolder(paths.dialState(agent))];
  const confine = <T extends ProcessSpec>(spec: T): T => {
    const [command = "", ...words] = sandboxWords({ ...view, writable }, spec.cwd ?? "/");
    const own = Object.entries(spec.env).filter(([name]) => PASSED.has(name));
    const env = { ...sandboxEnv(spec.env, view), ...Object.fromEntries(own) };
    return { ...spec, command, args: [...words, spec.command, ...spec.args], env };
  };
  return {
    run: (spec) => processes.run(confine(spec)),
    spawn: (spec) => processes.spawn(confine(spec)),
  };
}

/** Returns whether the sandbox can be built; nothing for an agent without one. */
export async function sandboxOf(
  { agent, paths, sandbox }: Pick<DialConfig, "agent" | "paths" | "sandbox">,
  processes: Pick<Processes, "run">,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly sandbox?: ReportedSandbox }> {
  if (sandbox === undefined) return {};
  const view = agentView({ agent, paths, home: paths.home(agent), ...sandbox });
  return { sandbox: { fault: await findSandboxFault(processes, { view, root: paths.root, env }) } };
}
