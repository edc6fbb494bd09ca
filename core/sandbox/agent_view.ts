/**
 * The sandbox of one agent on this host: its view, and why it cannot be built.
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import type { Processes } from "core/ports/processes.ts";
import { type SandboxNetwork, type SandboxView, viewFault } from "core/sandbox/command_sandbox.ts";
import { probeSandbox } from "core/sandbox/probe.ts";

/** Returns the view: the workspace to write, files of turns and skills to read. */
export function agentView(
  of: {
    readonly agent: string;
    readonly home: string;
    readonly paths: Pick<Paths, "dialState">;
    readonly folder: string;
    readonly network: SandboxNetwork;
  },
): SandboxView {
  return {
    home: of.home,
    writable: [of.folder],
    // Files that people attached to turns, and skills: the model gets their paths.
    readable: [`${of.paths.dialState(of.agent)}/files`, `${of.home}/.agents/skills`],
    network: of.network,
  };
}

/** Returns why the sandbox cannot be built here; undefined when it can. */
export async function findSandboxFault(
  processes: Pick<Processes, "run">,
  of: {
    readonly view: SandboxView;
    readonly root: string;
    readonly env: Readonly<Record<string, string>>;
  },
): Promise<string | undefined> {
  return viewFault(of.view, of.root) ?? await probeSandbox(processes, of.view, of.env);
}
