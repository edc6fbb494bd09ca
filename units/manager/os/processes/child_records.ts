/**
 * The durable list of children: one line when a child is started, one when it is gone. The next
 * manager reads it to find what a killed manager left behind. A line is written as soon as the pid
 * is known; until then, a child is identified by its environment. There is no fsync: the list must
 * survive this process, not the machine, because lines of another boot are ignored.
 *
 * @module
 */

import fs from "node:fs";
import type { ProcessName } from "core/os/proc.ts";

/** A child that was started and has not ended. */
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
/** After this many lines the file is rewritten with live children only. */
const LINES_MAX = 1000;

/** Reads the list of an earlier manager; skips lines that a kill truncated. */
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

/** Replaces the file atomically with these lines; returns its descriptor, open for appending. */
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
