/**
 * The journal of one unit: a log file (0600) that is rotated at a fixed size, and the last lines in
 * memory. A full disk stops writes to the file, never the unit; `tail` then answers from memory.
 * Terminal control sequences are removed when lines are shown, not when they are written.
 *
 * @module
 */

import fs from "node:fs";

/** Sizes of a journal. */
export const UNIT_LOG_LIMITS = {
  /** At this size the file becomes `<name>.1`, which replaces the previous one. */
  fileBytesMax: 4 * 1024 * 1024,
  /** A longer line is split into several. */
  lineBytesMax: 16 * 1024,
  /** Lines kept in memory. */
  memoryLinesMax: 200,
  /** Bytes read from the end of the file for one request. */
  tailBytesMax: 512 * 1024,
  /** Maximum number of lines returned for one request. */
  tailLinesMax: 2000,
} as const;

const FILE_MODE = 0o600;
/** Control sequences (CSI, OSC) and all other control characters except tab. */
const CONTROLS = new RegExp(
  String.raw`\x1b\[[0-9;:?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|` +
    String.raw`[\x00-\x08\x0b-\x1f\x7f-\x9f]`,
  "g",
);

/** Stores lines and returns the last ones. */
export interface UnitLog {
  append(lines: readonly string[]): void;
  /** The last lines, oldest first, safe to print. */
  tail(lines: number): readonly string[];
  /** Number of lines appended since the log was opened; marks where a run begins. */
  appended(): number;
  close(): void;
}

/** Number of log lines attached to a fault. */
const FAULT_LINES = 20;

/**
 * Returns the last lines since `start`, a value of `appended()`. Lines of older runs would mislead.
 */
export function excerptSince(log: UnitLog, start: number): readonly string[] {
  return log.tail(Math.min(FAULT_LINES, log.appended() - start));
}

/** Opens the log at `path`; `onFault` is called once each time writes start to fail. */
export function openUnitLog(path: string, onFault: (thrown: unknown) => void): UnitLog {
  const memory: string[] = [];
  let file: { descriptor: number; size: number } | undefined;
  let isFaulty = false;
  let appended = 0;
  const close = () => {
    if (file !== undefined) fs.closeSync(file.descriptor);
    file = undefined;
  };
  const write = (text: Uint8Array) => {
    if (file !== undefined && file.size + text.length > UNIT_LOG_LIMITS.fileBytesMax) {
      close();
      fs.renameSync(path, `${path}.1`);
    }
    file ??= openLogFile(path);
    for (let at = 0; at < text.length;) at += fs.writeSync(file.descriptor, text, at);
    file.size += text.length;
  };
  return {
    append(lines) {
      if (lines.length === 0) return;
      appended += lines.length;
      memory.push(...lines.slice(-UNIT_LOG_LIMITS.memoryLinesMax));
      memory.splice(0, memory.length - UNIT_LOG_LIMITS.memoryLinesMax);
      try {
        write(new TextEncoder().encode(`${lines.join("\n")}\n`));
        isFaulty = false;
      } catch (thrown) {
        if (!isFaulty) onFault(thrown);
        isFaulty = true;
      }
    },
    tail(wanted) {
      const count = Math.min(Math.max(0, Math.trunc(wanted)), UNIT_LOG_LIMITS.tailLinesMax);
      if (count === 0) return [];
      const isEnough = memory.length >= count || isFaulty;
      const lines = isEnough ? memory : readLastLines(path);
      return lines.slice(-count).map((line) => line.replace(CONTROLS, ""));
    },
    appended: () => appended,
    close,
  };
}

function openLogFile(path: string): { descriptor: number; size: number } {
  const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW } = fs.constants;
  const descriptor = fs.openSync(path, O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW, FILE_MODE);
  return { descriptor, size: fs.fstatSync(descriptor).size };
}

/** Also reads the end of the rotated file, so that a rotation hides no lines. */
function readLastLines(path: string): readonly string[] {
  const newer = readEnd(path, UNIT_LOG_LIMITS.tailBytesMax);
  const older = newer.length >= UNIT_LOG_LIMITS.tailBytesMax
    ? new Uint8Array()
    : readEnd(`${path}.1`, UNIT_LOG_LIMITS.tailBytesMax - newer.length);
  const text = new TextDecoder().decode(older) + new TextDecoder().decode(newer);
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function readEnd(path: string, bytesMax: number): Uint8Array {
  let descriptor: number;
  try {
    descriptor = fs.openSync(path, "r");
  } catch {
    // A unit that has logged nothing has no file.
    return new Uint8Array();
  }
  try {
    const size = fs.fstatSync(descriptor).size;
    const bytes = new Uint8Array(Math.min(size, bytesMax));
    const count = fs.readSync(descriptor, bytes, 0, bytes.length, size - bytes.length);
    return bytes.subarray(0, count);
  } finally {
    fs.closeSync(descriptor);
  }
}
