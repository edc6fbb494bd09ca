/**
 * The `ServiceManager` of a real host: `systemctl` and `journalctl`, argv only. Unit names are
 * checked before they reach a command line. Output is requested in formats that are the same in
 * every locale and without a terminal. Why not D-Bus: ADR 0035.
 *
 * @module
 */

import type { Processes, ProcessExit } from "core/ports/processes.ts";
import { ServiceFault, type ServiceManager } from "units/manager/service_manager.ts";
import { awaitReady, isReady } from "units/manager/os/systemd_ready.ts";
import { actOnEach } from "units/manager/os/systemd_each.ts";
import {
  parseUnitList,
  patternsFor,
  readUnitFiles,
  statusFromList,
  UNIT_FOLDERS,
  type UnitFileKind,
} from "units/manager/os/systemd_list.ts";
import { parseUnitStatus, SHOWN_PROPERTIES } from "units/manager/os/systemd_show.ts";
import { readUnixListeners } from "units/manager/os/unix_listeners.ts";
import type { UnitStatus, UnitVerb } from "core/ports/unit.ts";

const ENV = { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C", SYSTEMD_COLORS: "0" } as const;
/** Longer than any start timeout of fleetctl's units, so that systemd's own timeout fires first. */
const COMMAND_MS_MAX = 180_000;
const FAULT_LINES = 20;
const UNIT_NAME = /^[A-Za-z0-9:_.\\@][A-Za-z0-9:_.\\@-]{0,254}$/;

/** Folders that are read directly, without `systemctl`. */
export interface SystemdFolders {
  /** Exists if and only if systemd is PID 1. */
  readonly booted: string;
  /** Folders of unit files; the first one that has a unit's file wins. */
  readonly units: readonly string[];
}

/** Runs one of systemd's programs and returns its result unchanged. */
type Run = (program: "systemctl" | "journalctl", args: readonly string[]) => Promise<
  ProcessExit & { readonly stdout: string; readonly stderr: string; readonly timedOut: boolean }
>;

/** Returns the service manager of this host. */
export function systemdServices(
  processes: Processes,
  folders: SystemdFolders = { booted: "/run/systemd/system", units: UNIT_FOLDERS },
): ServiceManager {
  const run: Run = (program, args) =>
    processes.run({ command: program, args, env: ENV, timeoutMs: COMMAND_MS_MAX });
  const journal = (unit: string, lines: number) => readJournal(unit, lines, run);
  const status = (units: readonly string[]) => readStatus(units, run, folders.units);
  const systemctl = (verb: UnitVerb | "restart", units: readonly string[]) =>
    changeUnits(verb, units, run);
  const act = async (verb: UnitVerb | "restart", unit: string): Promise<void> => {
    const answer = await systemctl(verb, [checkUnit(unit)]);
    const isStart = verb === "start" || verb === "restart";
    if (answer.code === 0) {
      if (!isStart || !unit.endsWith(".service")) return;
      return await awaitReady(unit, run).catch(async (thrown) => {
        if (!(thrown instanceof ServiceFault)) throw thrown;
        const lines = await journal(unit, FAULT_LINES).catch(() => []);
        throw new ServiceFault(unit, thrown.message, lines);
      });
    }
    throw new ServiceFault(
      unit,
      `Cannot ${verb} ${unit}: ${reasonOf(answer)}`,
      isStart ? await journal(unit, FAULT_LINES).catch(() => []) : [],
    );
  };
  return {
    name: "systemd",
    isRunning: () => isFolder(folders.booted),
    reload: async () => {
      const answer = await run("systemctl", ["--no-ask-password", "daemon-reload"]);
      if (answer.code !== 0) {
        throw new ServiceFault("systemd", `Cannot reload the units: ${reasonOf(answer)}`);
      }
    },
    start: (unit) => act("start", unit),
    stop: (unit) => act("stop", unit),
    restart: (unit) => act("restart", unit),
    each: (verb, units) =>
      actOnEach(verb, units.map(checkUnit), {
        group: async (verb, group) => (await systemctl(verb, group)).code === 0,
        one: act,
        status,
      }),
    status,
    isReady: (unit) => isReady(checkUnit(unit), run),
    listeners: () => readUnixListeners(processes),
    journal,
  };
}

/**
 * Changes units with one command. A reload costs PID 1 milliseconds for each loaded unit, so
 * `enable` and `disable` do not reload; the caller reloads once.
 */
function changeUnits(
  verb: UnitVerb | "restart",
  units: readonly string[],
  run: Run,
): ReturnType<Run> {
  return run("systemctl", [
    "--no-ask-password",
    ...(verb === "enable" || verb === "disable" ? ["--no-reload"] : []),
    verb,
    "--",
    ...units,
  ]);
}

async function readJournal(unit: string, lines: number, run: Run): Promise<readonly string[]> {
  const answer = await run("journalctl", [
    "--no-pager",
    "--quiet",
    "--output=cat",
    `--lines=${Math.max(0, Math.trunc(lines))}`,
    `--unit=${checkUnit(unit)}`,
  ]);
  if (answer.code !== 0) {
    throw new ServiceFault(unit, `Cannot read the journal of ${unit}: ${reasonOf(answer)}`);
  }
  return answer.stdout.split("\n").filter((line) => line !== "");
}

/** Reads one list for all units, then properties only for the units that need them. */
async function readStatus(
  units: readonly string[],
  run: Run,
  folders: readonly string[],
): Promise<readonly UnitStatus[]> {
  if (units.length === 0) return [];
  const names = units.map(checkUnit);
  const answer = await run("systemctl", [
    "list-units",
    "--all",
    "--full",
    "--no-pager",
    "--output=json",
    "--",
    ...patternsFor(names),
  ]);
  const listed = answer.code === 0 ? parseUnitList(answer.stdout) : undefined;
  if (listed === undefined) {
    const why = answer.code === 0 ? "its answer is unreadable" : reasonOf(answer);
    throw new ServiceFault(names[0] ?? "", `Cannot list units: ${why}`);
  }
  let files: ReadonlyMap<string, UnitFileKind> | undefined;
  const filesOnce = () => files ??= readUnitFiles(folders);
  const known = new Map(names.map((unit) => [unit, statusFromList(unit, listed, filesOnce)]));
  const requested = [...known.keys()].filter((unit) => known.get(unit) === undefined);
  for (const status of await showUnits(requested, run)) known.set(status.unit, status);
  return names.map((unit) => known.get(unit) as UnitStatus);
}

/** Reads properties. This costs PID 1 about 8 to 10 ms per unit. */
async function showUnits(names: readonly string[], run: Run): Promise<readonly UnitStatus[]> {
  if (names.length === 0) return [];
  const answer = await run("systemctl", [
    "show",
    "--no-pager",
    "--timestamp=us+utc",
    `--property=${SHOWN_PROPERTIES.join(",")}`,
    "--",
    ...names,
  ]);
  if (answer.code !== 0) {
    throw new ServiceFault(names[0] ?? "", `Cannot query units: ${reasonOf(answer)}`);
  }
  return matchUnits(names, parseUnitStatus(answer.stdout));
}

/**
 * `systemctl show` prints one block per requested unit, in that order. The block of an alias has
 * the real unit's name, so the requested name is put back.
 */
function matchUnits(names: readonly string[], found: readonly UnitStatus[]): UnitStatus[] {
  if (found.length !== names.length) {
    throw new ServiceFault(
      names[0] ?? "",
      `Cannot query units: requested ${names.length}, received ${found.length}`,
    );
  }
  return names.map((unit, index) => ({ ...(found[index] as UnitStatus), unit }));
}

/** A name such as `--root=/x` must not become an option, nor a glob match many units. */
function checkUnit(unit: string): string {
  if (UNIT_NAME.test(unit) && unit.includes(".")) return unit;
  throw new ServiceFault(
    unit,
    `Cannot use ${JSON.stringify(unit)} as a unit: not a valid unit name`,
  );
}

function reasonOf(
  answer: {
    readonly stderr: string;
    readonly timedOut: boolean;
    readonly code: number | undefined;
    readonly signal: string | undefined;
  },
): string {
  if (answer.timedOut) return `no answer within ${COMMAND_MS_MAX / 1000} seconds`;
  const lines = answer.stderr.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  return lines[0] ?? (answer.signal ?? `exit code ${answer.code}`);
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await Deno.lstat(path)).isDirectory;
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotFound) return false;
    throw thrown;
  }
}
