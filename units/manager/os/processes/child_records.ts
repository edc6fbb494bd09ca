/**
 * The durable list of children: one line when a child was started, one when it is gone, so that
 * the next manager knows what a killed one left behind. Written as soon as the pid is known; for
 * the moment before, a child is known by its environment. No fsync: the list must outlive this
 * process, not the machine (a line of another boot means nothing).
 *
 * @module
 */

import fs from "node:fs";
import type { ProcessName } from "units/manager/os/processes/process_table.ts";

/** A child that was started and not yet seen gone. */
export interface ChildRecord extends ProcessName {
  readonly unit: string;
  readonly boot: string;
}

/** The list while a manager runs. */
export interface ChildRecords {
  add(unit: string, process: ProcessName): void;
  remove(process: ProcessName): void;
  close(): void;
}

const FILE_MODE = 0o600;
/** Lines after which the file is written anew with only what is alive. */
const LINES_MAX = 1000;

/** Reads the list of an earlier manager; lines that a kill cut short are skipped. */
export function readChildRecords(path: string): readonly ChildRecord[] {
  let text: string;
  try {
    text = fs.readFileSync(path, "utf8");
  } catch (thrown) {
    if ((thrown as { code?: string }).code === "ENOENT") return [];
    throw thrown;
  }
  const alive = new Map<string, ChildRecord>();
  for (const line of text.split("\n")) {
    const [sign, pid, start, boot, ...unit] = line.split(" ");
    const key = `${pid}:${start}`;
    if (sign === "-") alive.delete(key);
    if (sign !== "+" || boot === undefined || !/^[1-9]\d*:\d+$/.test(key)) continue;
    alive.set(key, { pid: Number(pid), start: start ?? "", boot, unit: unit.join(" ") });
  }
  return [...alive.values()];
}

/** Starts a new list, which replaces the one at `path`. */
export function openChildRecords(path: string, boot: string): ChildRecords {
  const alive = new Map<string, string>();
  let descriptor = startFile(path, []);
  let lines = 0;
  const write = (line: string) => {
    if (++lines > LINES_MAX) {
      fs.closeSync(descriptor);
      descriptor = startFile(path, alive.values());
      lines = alive.size;
    } else {
      fs.writeSync(descriptor, line);
    }
  };
  return {
    add(unit, process) {
      const line = `+ ${process.pid} ${process.start} ${boot} ${unit}\n`;
      alive.set(`${process.pid}:${process.start}`, line);
      write(line);
    },
    remove(process) {
      if (alive.delete(`${process.pid}:${process.start}`)) {
        write(`- ${process.pid} ${process.start}\n`);
      }
    },
    close: () => fs.closeSync(descriptor),
  };
}

/** Puts a file with these lines in place in one step and returns it open for appending. */
function startFile(path: string, lines: Iterable<string>): number {
  const temp = `${path}.new`;
  fs.rmSync(temp, { force: true });
  const descriptor = fs.openSync(temp, "ax", FILE_MODE);
  try {
    const text = [...lines].join("");
    if (text !== "") fs.writeSync(descriptor, text);
    fs.renameSync(temp, path);
    return descriptor;
  } catch (thrown) {
    fs.closeSync(descriptor);
    throw thrown;
  }
}
