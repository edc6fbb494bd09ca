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
  const folder = `${paths.run}/units`;
  const loaded = `${folder}/loaded.json`;
  const mark = (unit: string) => `${folder}/${unit}.active`;
  const readLoaded = async () => {
    const text = await Deno.readTextFile(loaded).catch(() => "[]");
    return new Set(JSON.parse(text) as readonly string[]);
  };
  const put = async (path: string, text: string) => {
    await Deno.mkdir(folder, { recursive: true });
    await Deno.writeTextFile(`${path}.new`, text);
    await Deno.rename(`${path}.new`, path);
  };
  const start = async (unit: string) => {
    if (!(await readLoaded()).has(unit)) {
      throw new ServiceFault(unit, `Cannot start ${unit}: not loaded`);
    }
    await put(mark(unit), String(Date.now()));
  };
  const stop = async (unit: string) => {
    await Deno.remove(mark(unit)).catch(() => {});
  };
  const wants = async (unit: string) => {
    const text = await Deno.readTextFile(`${paths.units}/${unit}`).catch(() => "");
    const target = /^WantedBy=(.+)$/m.exec(text)?.[1] ?? "";
    return `${paths.units}/${target}.wants`;
  };
  const acts = {
    start,
    stop,
    enable: async (unit: string) => {
      const target = await wants(unit);
      await Deno.mkdir(target, { recursive: true });
      await Deno.remove(`${target}/${unit}`).catch(() => {});
      await Deno.symlink(`../${unit}`, `${target}/${unit}`);
    },
    disable: async (unit: string) => {
      for (const { name, isDirectory } of Deno.readDirSync(paths.units)) {
        if (isDirectory) await Deno.remove(`${paths.units}/${name}/${unit}`).catch(() => {});
      }
    },
  };
  return {
    name: "embedded",
    isRunning: async () => true,
    reload: async () => {
      const names = [...Deno.readDirSync(paths.units)].map(({ name }) => name);
      await put(loaded, JSON.stringify(names.filter((name) => /\.(service|socket)$/.test(name))));
    },
    start,
    stop,
    restart: async (unit) => {
      await stop(unit);
      await start(unit);
    },
    each: (verb, units) => eachUnit(units, (unit) => acts[verb](unit)),
    status: async (units) => {
      const known = await readLoaded();
      return await Promise.all(units.map(async (unit): Promise<UnitStatus> => {
        const since = Number(await Deno.readTextFile(mark(unit)).catch(() => "0"));
        return {
          unit,
          load: known.has(unit) ? "loaded" : "not-found",
          active: since > 0 ? "active" : "inactive",
          mainPid: since > 0 ? since % 100_000 : undefined,
          since: since > 0 ? since : undefined,
          reason: undefined,
          restarts: 0,
        };
      }));
    },
    journal: async () => [],
  };
}
