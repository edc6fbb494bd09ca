/**
 * Compiles a program to one file, if Deno's runtime stub is available without a download: named by
 * `DENORT_BIN`, or in Deno's cache. Only programs with the same permission set on every host are
 * compiled. An agent's set contains its paths, and `fleetctl` selects a set by its first word.
 *
 * @module
 */

import type { Files } from "core/ports/files.ts";
import { ok, type Result } from "core/result.ts";
import { type BuildContext, runStep } from "units/package/build_context.ts";
import type { Program } from "units/render/launchers.ts";
import { EXEC_SET } from "units/render/permissions.ts";

/** Returns why a program is bundled and not compiled; undefined when it can be compiled. */
export function whyBundled(program: Program, stub: string | undefined): string | undefined {
  if (program.isAgents === true) return "its permission set depends on the agent";
  if (program.set === "fleetctl") return "its permission set depends on the verb";
  if (program.set === EXEC_SET) return "its permission set names the agents of its host";
  return stub === undefined ? "no runtime stub: set DENORT_BIN" : undefined;
}

/** Finds the runtime stub of this Deno; never downloads it. */
export async function findStub(
  files: Pick<Files, "stat">,
  at: { readonly env: Readonly<Record<string, string>>; readonly version: string; target: string },
): Promise<string | undefined> {
  const { DENORT_BIN: named, DENO_DIR: cache } = at.env;
  const candidates = [
    named,
    cache === undefined ? undefined : `${cache}/dl/release/v${at.version}/denort-${at.target}.zip`,
  ];
  for (const path of candidates) {
    if (path !== undefined && path !== "" && (await files.stat(path))?.kind === "file") return path;
  }
  return undefined;
}

/** Compiles a program together with its permission set; returns its size. */
export async function compileProgram(
  context: BuildContext,
  program: Program,
  to: { readonly bundle: string; readonly config: string; readonly output: string },
): Promise<Result<number>> {
  const made = await runStep(context, `compile "${program.name}"`, [
    context.deno,
    "compile",
    "-q",
    "--no-check",
    "--cached-only",
    "--no-prompt",
    `--config=${to.config}`,
    `-P=${program.set}`,
    `--output=${to.output}`,
    // The bundle, not the entry: the entry would include all packages of the project.
    to.bundle,
  ]);
  return made.ok ? ok((await context.files.stat(to.output))?.size ?? 0) : made;
}
