/**
 * Warnings about the program of an agent's runtime: its file is missing, or the agent may use less
 * memory than the program needs. The record is valid, but the program does not start, or the kernel
 * ends it.
 *
 * @module
 */

import { errorText, type Refusal, refusal } from "core/errors.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import { fillLimits } from "core/limits/agent.ts";
import type { AgentName } from "core/names.ts";
import type { Files } from "core/ports/files.ts";
import { fillPlaceholders, isBuiltIn, type RuntimeDefinition } from "core/runtimes/definition.ts";
import type { Facts } from "units/reconcile/facts.ts";

const LINKS_MAX = 16;
const EXECUTABLE = 0o111;
const MIB = 1024 ** 2;

/** The fields that the warnings depend on. */
type Checked = Pick<AgentRecord, "name" | "runtime" | "limits">;

/** Returns the warnings about the program of one agent. */
export async function programWarnings(
  files: Pick<Files, "stat" | "readLink">,
  facts: Pick<Facts, "paths" | "runtimes" | "limits">,
  agent: Checked,
): Promise<readonly Refusal[]> {
  const definition = facts.runtimes.get(agent.runtime);
  // `apply` reports a runtime without a definition. The built-in program is in the package.
  if (definition === undefined || isBuiltIn(definition)) return [];
  const warnings = [
    await notInstalled(files, facts, { agent, definition }),
    memoryLow(facts, { agent, definition }),
  ];
  return warnings.filter((each) => each !== undefined);
}

interface Subject {
  readonly agent: Checked;
  readonly definition: RuntimeDefinition;
}

async function notInstalled(
  files: Pick<Files, "stat" | "readLink">,
  { paths }: Pick<Facts, "paths">,
  { agent, definition }: Subject,
): Promise<Refusal | undefined> {
  const home = paths.home(agent.name);
  const path = fillPlaceholders(definition.command, { lib: paths.lib, home, agent: agent.name });
  const found = await faultOf(files, path, `${home}/`);
  if (found === undefined) return undefined;
  return refusal(
    "runtime-not-installed",
    `Cannot start runtime "${definition.name}": ${JSON.stringify(path)} ${found}, ` +
      "must be an executable file",
    { hints: [definition.install ?? `ls -l ${path}`, ...signInOf(definition, agent.name)] },
  );
}

/** A program that is not installed yet has no credential either. */
function signInOf({ install, signIn }: RuntimeDefinition, agent: AgentName): readonly string[] {
  if (install === undefined || signIn === undefined) return [];
  return [fillPlaceholders(signIn, { lib: "", home: "", agent })];
}

/**
 * Returns why the file cannot be executed; undefined when it can, or when its path leads into the
 * agent's home, where root must not read. Follows links as `execve` does.
 */
async function faultOf(
  files: Pick<Files, "stat" | "readLink">,
  path: string,
  home: string,
): Promise<string | undefined> {
  let at = path;
  try {
    for (let links = 0; links <= LINKS_MAX; links++) {
      if (at.startsWith(home)) return undefined;
      const stat = await files.stat(at);
      if (stat === undefined) {
        const missing = "does not exist";
        return at === path ? missing : `is a link to ${JSON.stringify(at)}, which ${missing}`;
      }
      if (stat.kind !== "symlink") {
        if (stat.kind !== "file") return "is not a file";
        return (stat.mode & EXECUTABLE) === 0 ? "is not executable" : undefined;
      }
      const target = await files.readLink(at) ?? "";
      at = target.startsWith("/") ? target : `${at.slice(0, at.lastIndexOf("/"))}/${target}`;
    }
    return `has more than ${LINKS_MAX} links`;
  } catch (error) {
    return `cannot be read (${errorText(error)})`;
  }
}

function memoryLow(
  { limits }: Pick<Facts, "limits">,
  { agent, definition }: Subject,
): Refusal | undefined {
  const needed = definition.needs?.memoryMb;
  if (limits === undefined || needed === undefined) return undefined;
  const allowed = Math.floor(fillLimits(agent.limits ?? {}, limits.agent).memoryMaxBytes / MIB);
  if (allowed >= needed) return undefined;
  return refusal(
    "runtime-memory-low",
    `Agent "${agent.name}" may use ${allowed}M of memory, ` +
      `but its runtime "${definition.name}" needs at least ${needed}M`,
    { hints: [`fleetctl agents set ${agent.name} --memory-max ${needed}M`] },
  );
}
