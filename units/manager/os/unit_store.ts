/**
 * The unit files under the root: read, checked, and which of them are enabled. Enabling creates the
 * link `<target>.wants/<unit>`, as systemd does, so that both managers agree. This module starts no
 * unit.
 *
 * @module
 */

import type { Files } from "core/ports/files.ts";
import { ServiceFault } from "units/manager/service_manager.ts";
import type { UnitFault } from "units/manager/embedded.ts";
import type { Paths } from "core/paths.ts";
import { parseUnit, type Unit } from "core/text/unit_file.ts";
import { credentialFolder } from "units/manager/os/runs/execution_context.ts";
import { relaxedKeysOf } from "units/manager/units/unit_reader.ts";
import {
  readUnitSpec,
  type SpecifierPaths,
  splitUnitName,
  type UnitSpec,
} from "units/manager/units/unit_spec.ts";

/** Targets whose wanted units are started when the manager starts. */
const START_TARGETS = ["sockets.target", "multi-user.target", "default.target"] as const;
/** File extensions of units. */
const KINDS: ReadonlySet<string> = new Set([".service", ".socket", ".target", ".timer", ".path"]);
const UNIT_NAME = /^[A-Za-z0-9:_.@\\-]{1,200}$/;
/** A larger file is not accepted as a unit. */
const UNIT_BYTES_MAX = 256 * 1024;
/** Instance under which a template is checked. */
const CHECKED_INSTANCE = "0";

/** Returns whether a text is a valid unit name, and so safe as part of a path. */
export function isUnitName(text: string): boolean {
  return UNIT_NAME.test(text) && !text.includes("..") && KINDS.has(splitUnitName(text).suffix);
}

/** The unit files as of the last reload. */
export class UnitStore {
  readonly #paths: Paths;
  readonly #files: Files;
  readonly #specifierPaths: SpecifierPaths;
  #units: ReadonlyMap<string, Unit> = new Map();
  #specs = new Map<string, UnitSpec>();
  #faults = new Map<string, readonly string[]>();

  constructor(paths: Paths, files: Files) {
    this.#paths = paths;
    this.#files = files;
    this.#specifierPaths = { at: paths.at, credentials: (unit) => credentialFolder(paths, unit) };
  }

  /** Re-reads all unit files; a faulty file does not affect the others. */
  async reload(): Promise<void> {
    const units = new Map<string, Unit>();
    const faults = new Map<string, readonly string[]>();
    const specs = new Map<string, UnitSpec>();
    for (const name of await this.#files.list(this.#paths.units)) {
      if (!isUnitName(name)) continue;
      const unit = await this.#readUnit(name);
      if (unit === undefined) continue;
      if (Array.isArray(unit)) {
        faults.set(name, unit);
        continue;
      }
      const checked = readUnitSpec(unit as Unit, checkedName(name), this.#specifierPaths);
      if (checked.ok) units.set(name, unit as Unit);
      else faults.set(name, checked.error);
      if (checked.ok && !isTemplate(name)) specs.set(name, checked.value);
    }
    this.#units = units;
    this.#faults = faults;
    this.#specs = specs;
  }

  /** Returns the parsed unit, or undefined when no usable file exists for it. */
  find(unit: string): UnitSpec | undefined {
    const known = this.#specs.get(unit);
    if (known !== undefined || !isUnitName(unit)) return known;
    const { prefix, instance, suffix } = splitUnitName(unit);
    if (instance === undefined || instance === "") return undefined;
    const template = this.#units.get(`${prefix}@${suffix}`);
    if (template === undefined) return undefined;
    const spec = readUnitSpec(template, unit, this.#specifierPaths);
    return spec.ok ? spec.value : undefined;
  }

  /** Returns the parsed unit; throws the faults of an unusable one. */
  require(unit: string): UnitSpec {
    const spec = this.find(unit);
    if (spec !== undefined) return spec;
    const details = this.faultsOf(unit);
    throw new ServiceFault(
      unit,
      details.length === 0
        ? `Cannot use unit ${JSON.stringify(unit)}: its unit file does not exist`
        : `Cannot use unit ${JSON.stringify(unit)}: its file is invalid: ${details.join("; ")}`,
    );
  }

  /** Returns the faults in the file of a unit or of its template. */
  faultsOf(unit: string): readonly string[] {
    const { prefix, instance, suffix } = splitUnitName(unit);
    const file = instance === undefined ? unit : `${prefix}@${suffix}`;
    return this.#faults.get(unit) ?? this.#faults.get(file) ?? [];
  }

  /** Names of the usable units that are not templates, sorted. */
  names(): readonly string[] {
    return [...this.#specs.keys()].sort();
  }

  faults(): readonly UnitFault[] {
    return [...this.#faults].map(([unit, details]) => ({ unit, details }));
  }

  /** Keys that loaded units set and that have no effect, sorted. */
  relaxedKeys(): readonly string[] {
    return [...new Set([...this.#units.values()].flatMap(relaxedKeysOf))].sort();
  }

  /** Names of the enabled units that have a usable file. */
  async enabled(): Promise<readonly string[]> {
    const names = new Set<string>();
    for (const target of START_TARGETS) {
      for (const name of await this.#files.list(this.#wants(target))) {
        if (this.find(name) !== undefined) names.add(name);
      }
    }
    return [...names];
  }

  async enable(unit: string): Promise<void> {
    const { wantedBy } = this.require(unit);
    for (const target of wantedBy) {
      if (!isUnitName(target)) {
        throw new ServiceFault(
          unit,
          `Cannot enable ${JSON.stringify(unit)}: WantedBy= is not a unit name`,
        );
      }
      await this.#files.ensureDir(this.#wants(target), { mode: 0o755 });
      const link = `${this.#wants(target)}/${unit}`;
      if (await this.#files.readLink(link).catch(() => undefined) === `../${unit}`) continue;
      await this.#files.symlink(`../${unit}`, link);
    }
  }

  /** Also works for units whose file is gone. */
  async disable(unit: string): Promise<void> {
    if (!isUnitName(unit)) return;
    for (const name of await this.#files.list(this.#paths.units)) {
      if (!name.endsWith(".wants")) continue;
      await this.#files.remove(`${this.#paths.units}/${name}/${unit}`);
    }
  }

  #wants(target: string): string {
    return `${this.#paths.units}/${target}.wants`;
  }

  /** Returns the unit with its drop-ins, or its faults, or undefined when no such file exists. */
  async #readUnit(name: string): Promise<Unit | readonly string[] | undefined> {
    const path = `${this.#paths.units}/${name}`;
    const folder = `${path}.d`;
    const dropIns = (await this.#files.list(folder)).filter((file) => file.endsWith(".conf"));
    const sections: Unit["sections"][number][] = [];
    for (const file of [path, ...dropIns.map((dropIn) => `${folder}/${dropIn}`)]) {
      const stat = await this.#files.stat(file);
      if (stat === undefined || stat.kind === "directory") return undefined;
      if (stat.size > UNIT_BYTES_MAX) return [`${file}: larger than ${UNIT_BYTES_MAX} bytes`];
      const text = await this.#files.readText(file);
      if (text === undefined) return undefined;
      const unit = parseUnit(name, text);
      if (!unit.ok) return unit.error.details;
      sections.push(...unit.value.sections);
    }
    return { name, sections };
  }
}

function isTemplate(name: string): boolean {
  return splitUnitName(name).instance === "";
}

function checkedName(name: string): string {
  return isTemplate(name) ? name.replace("@.", `@${CHECKED_INSTANCE}.`) : name;
}
