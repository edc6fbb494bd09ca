/**
 * The file `ceilings.yaml`: how much all agents of this host together may spend. Pure. Example:
 *
 * ```yaml
 * host: day=50usd,month=500usd
 * ```
 *
 * @module
 */

import { editHint } from "core/hints/edit_hint.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { createFieldReader } from "core/text/field_reader.ts";
import { parseYaml, printYaml } from "core/text/yaml.ts";
import { type Ceiling, parseCeilings, printCeilings } from "core/usage/ceiling.ts";

const HEADER = "# What all agents of this host together may spend; written by fleetctl.\n";

/** Parses the file; without it, and without its key, the host has no ceiling. */
export function parseHostCeilingFile(
  text: string | undefined,
  file: string,
): Result<readonly Ceiling[]> {
  if (text === undefined) return ok([]);
  const yaml = parseYaml(text, file);
  if (!yaml.ok) return err(unusable(file, yaml.error.details));
  if (yaml.value.value === null) return ok([]);
  const read = createFieldReader(yaml.value);
  read.onlyKeys([], ["host"]);
  const given = read.string(["host"]) ?? "";
  if (read.faults.length > 0) return err(unusable(file, read.faults));
  const ceilings = checkHostCeilings(given);
  return ceilings.ok ? ceilings : err(unusable(file, [ceilings.error.message]));
}

/** Parses the ceilings of a host: no owner may allow more of them. An empty text means none. */
export function checkHostCeilings(given: string): Result<readonly Ceiling[]> {
  if (given.trim() === "") return ok([]);
  const parsed = parseCeilings(given);
  if (!parsed.ok || parsed.value.every(({ ownerMore }) => ownerMore === 0)) return parsed;
  return err(refusal(
    "ceiling-invalid",
    "Cannot use the ceilings: those of a host have no owner who may allow more, must be such as " +
      "day=50usd",
    { kind: "usage", hints: ["fleetctl ceilings host set --help"] },
  ));
}

/** Prints the file that `parseHostCeilingFile` reads. */
export function printHostCeilingFile(ceilings: readonly Ceiling[]): string {
  return HEADER + printYaml({ host: printCeilings(ceilings) });
}

function unusable(file: string, details: readonly string[]) {
  return refusal("ceilings-invalid", `Cannot use the ceilings in "${file}"`, {
    details,
    hints: [editHint(file)],
  });
}
