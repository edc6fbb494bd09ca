/**
 * Ordered model of a systemd unit file; print and parse are inverse to each other. No I/O. Does not
 * check keys: renderers choose them, the service managers interpret them. Syntax:
 * systemd.syntax(7), the subset that fleetctl renders (no line continuations inside quotes).
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { faultCount } from "core/text/fault_count.ts";

/** One `Key=value` line; `why` is printed as a comment line above it. */
export interface UnitEntry {
  readonly key: string;
  readonly value: string;
  readonly why?: string;
}

/** One `[Section]`. */
export interface UnitSection {
  readonly name: string;
  readonly entries: readonly UnitEntry[];
}

/** One unit file; `name` includes the suffix: `mcp-git-ada.socket`, `mcp-git-ada@.service`. */
export interface Unit {
  readonly name: string;
  readonly sections: readonly UnitSection[];
}

/** Prints a unit, with an empty line between sections. */
export function printUnit(unit: Unit): string {
  return unit.sections.map((section) =>
    `[${section.name}]\n` +
    section.entries.map((entry) =>
      (entry.why === undefined ? "" : `# ${entry.why}\n`) + `${entry.key}=${entry.value}\n`
    ).join("")
  ).join("\n");
}

/** Parses unit text; comments directly above a key become its `why`. */
export function parseUnit(name: string, text: string): Result<Unit> {
  const sections: { name: string; entries: UnitEntry[] }[] = [];
  const faults: string[] = [];
  let why: string[] = [];
  const lines = text.split("\n");
  for (let index = 0; index < lines.length; index++) {
    let line = (lines[index] ?? "").trim();
    while (line.endsWith("\\") && index + 1 < lines.length) {
      line = `${line.slice(0, -1).trimEnd()} ${(lines[++index] ?? "").trim()}`;
    }
    if (line === "") {
      why = [];
    } else if (line.startsWith("#") || line.startsWith(";")) {
      why.push(line.slice(1).trim());
    } else if (line.startsWith("[") && line.endsWith("]")) {
      sections.push({ name: line.slice(1, -1), entries: [] });
      why = [];
    } else {
      const equals = line.indexOf("=");
      const section = sections.at(-1);
      if (equals < 1 || section === undefined) {
        faults.push(`${name}:${index + 1}: must be a [Section] or Key=value line`);
        continue;
      }
      const entry = { key: line.slice(0, equals).trim(), value: line.slice(equals + 1).trim() };
      section.entries.push(why.length === 0 ? entry : { ...entry, why: why.join(" ") });
      why = [];
    }
  }
  if (faults.length > 0) {
    return err(
      refusal("unit-invalid", `Cannot read unit "${name}": it has ${faultCount(faults)}`, {
        details: faults,
      }),
    );
  }
  return ok({ name, sections });
}

/** Returns every value of a key in order; an empty assignment resets the list, as in systemd. */
export function unitValues(unit: Unit, section: string, key: string): readonly string[] {
  let values: string[] = [];
  for (const part of unit.sections) {
    if (part.name !== section) continue;
    for (const entry of part.entries) {
      if (entry.key !== key) continue;
      values = entry.value === "" ? [] : [...values, entry.value];
    }
  }
  return values;
}

/** Returns the last value of a key. */
export function unitValue(unit: Unit, section: string, key: string): string | undefined {
  return unitValues(unit, section, key).at(-1);
}
