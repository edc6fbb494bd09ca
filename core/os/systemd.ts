/**
 * The `ServiceManager` of a real host: `systemctl` and `journalctl`, argv only.
 * Unit names are checked before they reach a command line. Output is asked for in forms that
 * do not depend on the language or on a terminal.
 *
 * @module
 */

import { type Processes, ServiceFault, type ServiceManager, type UnitStatus } from "core/ports.ts";
import { awaitReady, isReady } from "core/os/systemd_ready.ts";
import { parseUnitStatus, SHOWN_PROPERTIES } from "core/os/systemd_show.ts";

const ENV = { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C", SYSTEMD_COLORS: "0" } as const;
/** Longer than any start time-out of our units, so that systemd is the one who decides. */
const COMMAND_MS_MAX = 180_000;
const FAULT_LINES = 20;
const UNIT_NAME = /^[A-Za-z0-9:_.\\@][A-Za-z0-9:_.\\@-]{0,254}$/;

/** Returns the service manager of this host; `booted` is the folder that exists under systemd. */
export function systemdServices(
  processes: Processes,
  booted = "/run/systemd/system",
): ServiceManager {
  const run = (program: string, args: readonly string[]) =>
    processes.run({ command: program, args, env: ENV, timeoutMs: COMMAND_MS_MAX });
  const journal = async (unit: string, lines: number): Promise<readonly string[]> => {
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
  };
  const act = async (verb: string, unit: string): Promise<void> => {
    const answer = await run("systemctl", ["--no-ask-password", verb, "--", checkUnit(unit)]);
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
    isRunning: () => isFolder(booted),
    reload: async () => {
      const answer = await run("systemctl", ["--no-ask-password", "daemon-reload"]);
      if (answer.code !== 0) {
        throw new ServiceFault("systemd", `Cannot reload the units: ${reasonOf(answer)}`);
      }
    },
    start: (unit) => act("start", unit),
    stop: (unit) => act("stop", unit),
    restart: (unit) => act("restart", unit),
    enable: (unit) => act("enable", unit),
    disable: (unit) => act("disable", unit),
    status: async (units) => {
      if (units.length === 0) return [];
      const names = units.map(checkUnit);
      const answer = await run("systemctl", [
        "show",
        "--no-pager",
        "--timestamp=us+utc",
        `--property=${SHOWN_PROPERTIES.join(",")}`,
        "--",
        ...names,
      ]);
      if (answer.code !== 0) {
        throw new ServiceFault(names[0] ?? "", `Cannot ask for units: ${reasonOf(answer)}`);
      }
      return matchUnits(names, parseUnitStatus(answer.stdout));
    },
    isReady: (unit) => isReady(checkUnit(unit), run),
    journal,
  };
}

/** `systemctl show` answers in the order asked, one block per unit, but under its own name. */
function matchUnits(names: readonly string[], found: readonly UnitStatus[]): UnitStatus[] {
  if (found.length !== names.length) {
    throw new ServiceFault(
      names[0] ?? "",
      `Cannot ask for units: asked for ${names.length}, heard of ${found.length}`,
    );
  }
  return names.map((unit, index) => ({ ...(found[index] as UnitStatus), unit }));
}

/** A name such as `--root=/x` must not become an option, nor a glob match many units. */
function checkUnit(unit: string): string {
  if (UNIT_NAME.test(unit) && unit.includes(".")) return unit;
  throw new ServiceFault(unit, `Cannot use ${JSON.stringify(unit)} as a unit: it is no unit name`);
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
