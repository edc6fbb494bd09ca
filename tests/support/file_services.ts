/**
 * A service manager with its state in files, so that the state survives a killed program, as with
 * systemd. A unit is known after a reload and active while its mark exists. It starts no processes:
 * a main pid is only a number. For tests that kill programs; booted hosts test systemd itself.
 *
 * @module
 */

import { eachUnit } from "units/manager/each_unit.ts";
import type { Paths } from "core/paths.ts";
import { ServiceFault, type ServiceManager } from "units/manager/service_manager.ts";
import type { UnitStatus } from "core/ports/unit.ts";

/** Opens the manager of a root. */
export function fileServices(paths: Paths): ServiceManager {
  const units = new UnitMarks(`${paths.run}/units`);
  const acts = {
    start: (unit: string) => units.start(unit),
    stop: (unit: string) => units.stop(unit),
    enable: (unit: string) => enable(paths.units, unit),
    disable: (unit: string) => disable(paths.units, unit),
  };
  return {
    name: "embedded",
    isRunning: async () => true,
    reload: async () => {
      const names = [...Deno.readDirSync(paths.units)].map(({ name }) => name);
      await units.load(names.filter((name) => /\.(service|socket)$/.test(name)));
    },
    start: acts.start,
    stop: acts.stop,
    restart: async (unit) => {
      await units.stop(unit);
      await units.start(unit);
    },
    each: (verb, names) => eachUnit(names, (unit) => acts[verb](unit)),
    status: (names) => units.status(names),
    journal: async () => [],
  };
}

/** The list of loaded units, and a mark for each active one. */
class UnitMarks {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async load(units: readonly string[]): Promise<void> {
    await this.#put("loaded.json", JSON.stringify(units));
  }

  async start(unit: string): Promise<void> {
    if (!(await this.#loaded()).has(unit)) {
      throw new ServiceFault(unit, `Cannot start ${unit}: not loaded`);
    }
    await this.#put(`${unit}.active`, String(Date.now()));
  }

  async stop(unit: string): Promise<void> {
    await Deno.remove(`${this.#folder}/${unit}.active`).catch(() => {});
  }

  async status(units: readonly string[]): Promise<readonly UnitStatus[]> {
    const loaded = await this.#loaded();
    return await Promise.all(units.map(async (unit): Promise<UnitStatus> => {
      const mark = await Deno.readTextFile(`${this.#folder}/${unit}.active`).catch(() => "0");
      const since = Number(mark);
      return {
        unit,
        load: loaded.has(unit) ? "loaded" : "not-found",
        active: since > 0 ? "active" : "inactive",
        mainPid: since > 0 ? since % 100_000 : undefined,
        since: since > 0 ? since : undefined,
        reason: undefined,
        restarts: 0,
      };
    }));
  }

  async #loaded(): Promise<ReadonlySet<string>> {
    const text = await Deno.readTextFile(`${this.#folder}/loaded.json`).catch(() => "[]");
    return new Set(JSON.parse(text) as readonly string[]);
  }

  /** Replaces a file in one step. */
  async #put(name: string, text: string): Promise<void> {
    const path = `${this.#folder}/${name}`;
    await Deno.mkdir(this.#folder, { recursive: true });
    await Deno.writeTextFile(`${path}.new`, text);
    await Deno.rename(`${path}.new`, path);
  }
}

/** Links a unit into the folder of the target that wants it. */
async function enable(folder: string, unit: string): Promise<void> {
  const text = await Deno.readTextFile(`${folder}/${unit}`).catch(() => "");
  const wants = `${folder}/${/^WantedBy=(.+)$/m.exec(text)?.[1] ?? ""}.wants`;
  await Deno.mkdir(wants, { recursive: true });
  await Deno.remove(`${wants}/${unit}`).catch(() => {});
  await Deno.symlink(`../${unit}`, `${wants}/${unit}`);
}

/** Removes the links to a unit, whatever wants it. */
async function disable(folder: string, unit: string): Promise<void> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) await Deno.remove(`${folder}/${name}/${unit}`).catch(() => {});
  }
}
