/**
 * The parsed form of a unit: services, sockets and targets with every value read and checked. No
 * I/O. A unit with a fault is refused with all its faults.
 *
 * @module
 */

import { err, ok, type Result } from "core/result.ts";
import type { Unit } from "core/text/unit_file.ts";
import { readService, type ServiceSpec } from "units/manager/units/service_spec.ts";
import { readSocket, type SocketSpec } from "units/manager/units/socket_spec.ts";
import {
  createUnitReader,
  type SectionReader,
  type UnitReader,
} from "units/manager/units/unit_reader.ts";
import { readWords, type Specifiers, unescapeInstance } from "units/manager/units/words.ts";

/** Relations of one unit to others. */
export interface Relations {
  readonly after: readonly string[];
  readonly before: readonly string[];
  readonly requires: readonly string[];
  readonly wants: readonly string[];
  /** Like `requires`; this unit is also stopped when the other ends without a stop request. */
  readonly bindsTo: readonly string[];
  readonly partOf: readonly string[];
}

/** Fields of every kind of unit. */
export interface UnitBase {
  readonly unit: string;
  readonly relations: Relations;
  readonly wantedBy: readonly string[];
  /** The unit starts only if each path exists (with `!` in front: does not exist). */
  readonly conditionPaths: readonly string[];
}

/** A target: a name used only for ordering. */
export interface TargetSpec extends UnitBase {
  readonly kind: "target";
}

/** One unit as the manager sees it. */
export type UnitSpec =
  | (UnitBase & ServiceSpec)
  | (UnitBase & SocketSpec)
  | TargetSpec;

/** Folders that specifiers expand to. */
export interface SpecifierPaths {
  readonly at: (path: string) => string;
  /** Folder of the credentials of a unit (`%d`). */
  readonly credentials: (unit: string) => string;
}

/** Splits `mcp-git@3-1-0.service` into the name of its template and its instance. */
export function splitUnitName(
  name: string,
): { readonly prefix: string; readonly instance: string | undefined; readonly suffix: string } {
  const dot = name.lastIndexOf(".");
  const stem = name.slice(0, dot);
  const at = stem.indexOf("@");
  return {
    prefix: at < 0 ? stem : stem.slice(0, at),
    instance: at < 0 ? undefined : stem.slice(at + 1),
    suffix: name.slice(dot),
  };
}

/**
 * Returns the values of specifiers in a unit: those of systemd.unit(5) that work under a root
 * prefix.
 */
export function specifiersOf(name: string, paths: SpecifierPaths): Specifiers {
  const { prefix, instance, suffix } = splitUnitName(name);
  const stem = name.slice(0, name.length - suffix.length);
  return new Map([
    ["n", name],
    ["N", stem],
    ["p", prefix],
    ["i", instance ?? ""],
    ["I", unescapeInstance(instance ?? "")],
    ["h", paths.at("/root")],
    ["t", paths.at("/run")],
    ["S", paths.at("/var/lib")],
    ["C", paths.at("/var/cache")],
    ["L", paths.at("/var/log")],
    ["E", paths.at("/etc")],
    ["d", paths.credentials(name)],
  ]);
}

/** Reads a unit under the name of the instance to run; returns all faults together. */
export function readUnitSpec(
  unit: Unit,
  name: string,
  paths: SpecifierPaths,
): Result<UnitSpec, readonly string[]> {
  const reader = createUnitReader(unit);
  const specifiers = specifiersOf(name, paths);
  const base = readBase(reader, name, specifiers);
  const spec = readKind(reader, base, name, specifiers);
  return spec === undefined || reader.faults.length > 0 ? err(reader.faults) : ok(spec);
}

function readKind(
  reader: UnitReader,
  base: UnitBase,
  name: string,
  specifiers: Specifiers,
): UnitSpec | undefined {
  const { suffix } = splitUnitName(name);
  switch (suffix) {
    case ".service":
      return { ...base, ...readService(reader, specifiers) };
    case ".socket":
      return { ...base, ...readSocket(reader, specifiers) };
    case ".target":
      return { ...base, kind: "target" };
    default:
      reader.section("Unit").fault(
        "Description",
        `units of the kind "${suffix}" are not supported`,
      );
      return undefined;
  }
}

function readBase(reader: UnitReader, name: string, specifiers: Specifiers): UnitBase {
  const section = reader.section("Unit");
  const names = (from: SectionReader, key: string) =>
    from.each(key, (value) => readWords(value, specifiers)).flat().map((word) => word.text);
  return {
    unit: name,
    relations: {
      after: names(section, "After"),
      before: names(section, "Before"),
      requires: names(section, "Requires"),
      wants: names(section, "Wants"),
      bindsTo: names(section, "BindsTo"),
      partOf: names(section, "PartOf"),
    },
    wantedBy: names(reader.section("Install"), "WantedBy"),
    conditionPaths: names(section, "ConditionPathExists"),
  };
}
