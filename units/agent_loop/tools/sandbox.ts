/**
 * The sandbox of one runtime process: its view from the settings, and whether this host builds it.
 *
 * @module
 */

import type { Refusal } from "core/errors.ts";
import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import type { Processes } from "core/ports/processes.ts";
import { sandboxEnv, type SandboxView, sandboxWords } from "core/sandbox/command_sandbox.ts";
import { agentView, findSandboxFault } from "core/sandbox/agent_view.ts";
import { noSandbox } from "core/sandbox/sandbox_refusal.ts";
import type { RuntimeSettings } from "units/agent_loop/settings.ts";
import { type BashPorts, type BashSandbox, bashTool } from "units/agent_loop/tools/bash.ts";
import { fileTools } from "units/agent_loop/tools/files.ts";
import { confineFileTool } from "units/agent_loop/tools/sandboxed_files.ts";
import type { Tool, ToolFolders } from "units/agent_loop/tools/tool.ts";

/** What the built-in tools of a process need. */
export interface BuiltInTools {
  readonly agent: string;
  readonly home: string;
  readonly paths: Paths;
  readonly sandbox: RuntimeSettings["sandbox"];
  /** Environment of commands without a sandbox. */
  readonly env: Readonly<Record<string, string>>;
  readonly ports: BashPorts & { readonly files: Files };
}

/** Returns a function that makes the built-in tools for a working folder. */
export function builtInTools(of: BuiltInTools): (folders: ToolFolders) => readonly Tool[] {
  const { sandbox, env, ports, home } = of;
  if (sandbox === undefined) {
    return (folders) => [bashTool(folders, env, ports), ...fileTools(folders, ports.files)];
  }
  const view = agentView({ ...of, ...sandbox, home });
  const confined = bashSandbox(view, of);
  const cleanEnv = sandboxEnv(env, view);
  return (folders) => [
    bashTool(folders, cleanEnv, ports, confined),
    ...fileTools(folders, ports.files).map((tool) =>
      confineFileTool(tool, view, { folders, files: ports.files })
    ),
  ];
}

/** A sandbox that was built once is not tried again; a fault is, because it may be mended. */
function bashSandbox(
  view: SandboxView,
  { agent, paths, env, ports }: {
    readonly agent: string;
    readonly paths: Paths;
    readonly env: Readonly<Record<string, string>>;
    readonly ports: { readonly processes: Processes };
  },
): BashSandbox {
  let isBuilt = false;
  return {
    words: (cwd) => sandboxWords(view, cwd),
    async check(): Promise<Refusal | undefined> {
      if (isBuilt) return undefined;
      const fault = await findSandboxFault(ports.processes, { view, root: paths.root, env });
      isBuilt = fault === undefined;
      return fault === undefined ? undefined : noSandbox(agent, fault);
    },
  };
}
