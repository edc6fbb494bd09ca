/**
 * All runtime definitions of a host: the shipped ones, overlaid by `/etc/fleetctl/runtimes.d/`. A
 * host's file either changes keys of a shipped definition or adds a runtime. A broken file is
 * reported, and all other definitions stay available.
 *
 * @module
 */

import claudeAgentAcp from "./shipped/claude-agent-acp.yaml" with { type: "text" };
import claudeCode from "./shipped/claude-code.yaml" with { type: "text" };
import codex from "./shipped/codex.yaml" with { type: "text" };
import opencode from "./shipped/opencode.yaml" with { type: "text" };
import pi from "./shipped/pi.yaml" with { type: "text" };
import runtimeA from "./shipped/runtime-a.yaml" with { type: "text" };
import runtimeB from "./shipped/runtime-b.yaml" with { type: "text" };
import { errorText, type Refusal, refusal } from "core/errors.ts";
import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import { err, ok, type Result } from "core/result.ts";
import { parseDefinition, type RuntimeDefinition } from "core/runtimes/definition.ts";

/** The runtimes available on a host. */
export interface RuntimeDefinitions {
  readonly byName: ReadonlyMap<string, RuntimeDefinition>;
  /** Unusable host files, with one refusal each. */
  readonly faults: readonly Refusal[];
}

/** Returns the definitions that ship with the product. */
export function shippedDefinitions(): ReadonlyMap<string, RuntimeDefinition> {
  const byName = new Map<string, RuntimeDefinition>();
  for (
    const [file, text] of [
      ["runtime-a.yaml", runtimeA],
      ["runtime-b.yaml", runtimeB],
      ["claude-code.yaml", claudeCode],
      ["codex.yaml", codex],
      ["pi.yaml", pi],
      ["opencode.yaml", opencode],
      ["claude-agent-acp.yaml", claudeAgentAcp],
    ] as const
  ) {
    const parsed = parseDefinition(text, file);
    if (!parsed.ok) throw new Error(`${parsed.error.message}: ${parsed.error.details.join("; ")}`);
    byName.set(parsed.value.name, parsed.value);
  }
  return byName;
}

/** Reads the host's files and overlays them on the shipped definitions. */
export async function readDefinitions(files: Files, paths: Paths): Promise<RuntimeDefinitions> {
  const byName = new Map(shippedDefinitions());
  const faults: Refusal[] = [];
  const names = await listOverlay(files, paths, faults);
  for (const name of names) {
    const file = `${paths.runtimesDir}/${name}`;
    try {
      const text = await files.readText(file);
      if (text === undefined) continue;
      const base = byName.get(name.replace(/\.ya?ml$/, ""));
      const parsed = parseDefinition(text, file, base);
      if (parsed.ok) byName.set(parsed.value.name, parsed.value);
      else faults.push(parsed.error);
    } catch (error) {
      faults.push(unreadable(file, error));
    }
  }
  return { byName, faults };
}

/** Returns a definition by name; the refusal lists the existing names. */
export function findDefinition(
  definitions: RuntimeDefinitions,
  name: string,
): Result<RuntimeDefinition> {
  const found = definitions.byName.get(name);
  if (found !== undefined) return ok(found);
  const known = [...definitions.byName.keys()].sort().map((each) => `"${each}"`).join(", ");
  return err(refusal(
    "runtime-unknown",
    `Cannot use runtime "${name}": there is no such definition, must be one of ${known}`,
    { details: definitions.faults.flatMap((fault) => [fault.message, ...fault.details]) },
  ));
}

async function listOverlay(files: Files, paths: Paths, faults: Refusal[]) {
  try {
    const names = await files.list(paths.runtimesDir);
    return names.filter((name) => !name.startsWith(".") && /\.ya?ml$/.test(name));
  } catch (error) {
    faults.push(unreadable(paths.runtimesDir, error));
    return [];
  }
}

function unreadable(path: string, error: unknown): Refusal {
  return refusal(
    "runtime-unreadable",
    `Cannot read runtime definitions at "${path}": ${errorText(error)}`,
  );
}
