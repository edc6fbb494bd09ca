/**
 * Reads the units that systemd has in memory, with one `systemctl list-units`, and the unit files
 * that exist. `systemctl show` makes PID 1 load and describe each unit, which takes 8 to 10 ms per
 * unit. The list takes a few microseconds per unit, but contains only loaded units. A unit that is
 * not listed and has a file is inactive.
 *
 * @module
 */

import type { UnitStatus } from "core/ports/unit.ts";
import { isRecord } from "core/text/json_object.ts";

/** One line of the list. */
export interface ListedUnit {
  readonly load: string;
  readonly active: string;
}

/** The file of a unit; `link` is an alias, which only systemd can resolve. */
export type UnitFileKind = "file" | "masked" | "link";

/** Folders in which systemd looks for system units, first match first (`systemd.unit(5)`). */
export const UNIT_FOLDERS: readonly string[] = [
  "/etc/systemd/system.control",
  "/run/systemd/system.control",
  "/run/systemd/transient",
  "/run/systemd/generator.early",
  "/etc/systemd/system",
  "/etc/systemd/system.attached",
  "/run/systemd/system",
  "/run/systemd/system.attached",
  "/run/systemd/generator",
  "/usr/local/lib/systemd/system",
  "/lib/systemd/system",
  "/usr/lib/systemd/system",
  "/run/systemd/generator.late",
];

/** Up to this many units are named one by one; above it, PID 1 compares fewer patterns. */
const NAMES_MAX = 16;

/**
 * Returns patterns that match at least these units: their names, or prefixes of them. A pattern may
 * also match other units, so the caller looks its units up by name.
 */
export function patternsFor(names: readonly string[]): readonly string[] {
  if (names.length <= NAMES_MAX) return names;
  return [
    ...new Set(names.map((name) => {
      const start = /^[A-Za-z0-9]+-/.exec(name)?.[0];
      return start === undefined ? name : `${start}*${name.slice(name.lastIndexOf("."))}`;
    })),
  ];
}

/** Parses the output of `list-units --output=json`; returns undefined for any other text. */
export function parseUnitList(text: string): ReadonlyMap<string, ListedUnit> | undefined {
  let rows: unknown;
  try {
    rows = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(rows)) return undefined;
  const listed = new Map<string, ListedUnit>();
  for (const row of rows as readonly unknown[]) {
    if (!isRecord(row)) return undefined;
    const { unit, load, active } = row;
    const isText = typeof unit === "string" && typeof load === "string" &&
      typeof active === "string";
    if (!isText) return undefined;
    listed.set(unit, { load, active });
  }
  return listed;
}

/** Returns the unit files in these folders by name. */
export function readUnitFiles(folders: readonly string[]): ReadonlyMap<string, UnitFileKind> {
  const found = new Map<string, UnitFileKind>();
  for (const folder of folders) {
    for (const { name, isFile, isSymlink } of entriesOf(folder)) {
      if (found.has(name) || !(isFile || isSymlink)) continue;
      found.set(name, isSymlink ? kindOfLink(`${folder}/${name}`) : "file");
    }
  }
  return found;
}

function entriesOf(folder: string): readonly Deno.DirEntry[] {
  try {
    return [...Deno.readDirSync(folder)];
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotFound) return [];
    throw thrown;
  }
}

function kindOfLink(path: string): UnitFileKind {
  return Deno.readLinkSync(path) === "/dev/null" ? "masked" : "link";
}

/**
 * Returns the state of a unit from the list and the files. Returns undefined when only systemd
 * knows the rest: the process and times of a service, the reason of a failure, the target of an
 * alias.
 */
export function statusFromList(
  unit: string,
  listed: ReadonlyMap<string, ListedUnit>,
  files: () => ReadonlyMap<string, UnitFileKind>,
): UnitStatus | undefined {
  const row = listed.get(unit);
  if (row === undefined) {
    const template = unit.replace(/@[^@]*(\.[a-z]+)$/, "@$1");
    const kind = files().get(unit) ?? files().get(template);
    if (kind === "link") return undefined;
    return idle(unit, kind === "file" ? "loaded" : "not-found");
  }
  if (row.load !== "loaded") return idle(unit, "not-found");
  const isPlain = !unit.endsWith(".service") && row.active === "active";
  return isPlain ? { ...idle(unit, "loaded"), active: "active" } : undefined;
}

function idle(unit: string, load: UnitStatus["load"]): UnitStatus {
  return {
    unit,
    load,
    active: "inactive",
    mainPid: undefined,
    since: undefined,
    reason: undefined,
    restarts: 0,
  };
}
