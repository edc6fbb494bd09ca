/**
 * Starts programs: argv only, never a shell, and exactly the given environment. Bounds their
 * output, ends the whole group on time-out, and throws a `FileFault` with code and path when a
 * program cannot be started. `Deno.Command` gives web streams with back-pressure.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { FileFault } from "core/ports/files.ts";
import type { Processes, ProcessSpec } from "core/ports/processes.ts";
import { posixCode } from "core/os/file_fault.ts";
import { childOf, type StartedChild } from "core/os/child.ts";
import { runToEnd } from "core/os/run_to_end.ts";

/** Returns the machine's `Processes` port. */
export function systemProcesses(): Processes {
  return {
    run: async (spec) => await runToEnd(startChild({ ...spec, group: true }), spec),
    spawn: async (spec) => startChild(spec),
    which,
  };
}

function startChild(spec: ProcessSpec & { readonly group?: boolean }): StartedChild {
  try {
    const started = new Deno.Command(spec.command, {
      args: [...spec.args],
      env: { ...spec.env },
      clearEnv: true,
      ...defined({ cwd: spec.cwd }),
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      detached: spec.group === true,
    }).spawn();
    return childOf(started, spec.group === true);
  } catch (thrown) {
    throw startFault(spec, thrown);
  }
}

/**
 * Returns the fault of a failed start; it states whether the program or its working folder is
 * missing.
 */
function startFault(spec: ProcessSpec, thrown: unknown): FileFault {
  const code = posixCode(thrown);
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  if (code === "ENOENT" && spec.cwd !== undefined && text.includes("No such cwd")) {
    return new FileFault(
      code,
      spec.cwd,
      `Cannot start ${JSON.stringify(spec.command)} in ${JSON.stringify(spec.cwd)}: no such folder`,
    );
  }
  const state = thrown instanceof Deno.errors.NotCapable
    ? "outside the permission set of this program"
    : code === "ENOENT"
    ? "no such program"
    : code === "EACCES"
    ? "not executable for this user"
    : text;
  return new FileFault(
    code,
    spec.command,
    `Cannot start ${JSON.stringify(spec.command)}: ${state}`,
  );
}

async function which(...names: readonly string[]): Promise<string | undefined> {
  const folders = (Deno.env.get("PATH") ?? "").split(":").filter((folder) =>
    folder.startsWith("/")
  );
  for (const name of names) {
    if (name.includes("/") || name === "") continue;
    for (const folder of folders) {
      const path = `${folder.replace(/\/+$/, "")}/${name}`;
      if (await isExecutable(path)) return path;
    }
  }
  return undefined;
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    const info = await Deno.stat(path);
    return info.isFile && ((info.mode ?? 0) & 0o111) !== 0;
  } catch {
    // Treat an unreadable entry like a missing one: try the next folder.
    return false;
  }
}
