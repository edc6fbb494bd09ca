/**
 * What a runtime definition says about its program besides how to start it: the tested versions,
 * the memory and the time that it needs, and the command that installs it. Pure.
 *
 * @module
 */

import { isRecord } from "core/text/json_object.ts";

/** What a program needs; an absent value is not known. */
export interface RuntimeNeeds {
  /** Memory of the program for one agent, in MiB. */
  readonly memoryMb?: number;
  /** Time until its first turn may start, in seconds. */
  readonly startSeconds?: number;
}

const MEMORY_MB_MAX = 1024 * 1024;
const START_SECONDS_MAX = 3_600;
/** Time limit of a start when the definition states none. */
const START_SECONDS = 90;
const VERSIONS_MAX = 64;
const VERSION = /^[0-9A-Za-z][\w.+-]{0,63}$/;
const INSTALL_LENGTH_MAX = 1_000;

export const WANTED_VERSIONS =
  `must be a list of at most ${VERSIONS_MAX} versions in quotation marks`;
export const WANTED_INSTALL = "must be a command on one line";

/** Returns the time limit of a program's start, in milliseconds. */
export function startMsOf(needs: RuntimeNeeds | undefined): number {
  return (needs?.startSeconds ?? START_SECONDS) * 1_000;
}

/** Returns the list of tested versions; undefined when it is malformed. */
export function versionList(value: unknown): readonly string[] | undefined {
  const isUsable = Array.isArray(value) && value.length <= VERSIONS_MAX &&
    value.every((each) => typeof each === "string" && VERSION.test(each));
  return isUsable ? value : undefined;
}

/** Returns a command that an operator can paste; undefined when it is malformed. */
export function installCommand(value: unknown): string | undefined {
  return typeof value === "string" && value.length <= INSTALL_LENGTH_MAX &&
      /^[^\s\p{Cc}][^\p{Cc}]*$/u.test(value)
    ? value
    : undefined;
}

/** Returns the needs of a file over those of the shipped definition; reports each fault. */
export function readNeeds(
  value: unknown,
  base: RuntimeNeeds | undefined,
  bad: (path: readonly string[], wanted: string) => void,
): RuntimeNeeds | undefined {
  if (!isRecord(value)) {
    bad(["needs"], "must be a mapping");
    return base;
  }
  const read: { memoryMb?: number; startSeconds?: number } = { ...base };
  for (const [key, part] of Object.entries(value)) {
    const at = ["needs", key];
    if (key === "memory_mb") {
      if (isCount(part, MEMORY_MB_MAX)) read.memoryMb = part;
      else bad(at, wantedCount(MEMORY_MB_MAX));
    } else if (key === "start_seconds") {
      if (isCount(part, START_SECONDS_MAX)) read.startSeconds = part;
      else bad(at, wantedCount(START_SECONDS_MAX));
    } else bad(at, "is not a known key");
  }
  return read;
}

function isCount(value: unknown, max: number): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= max;
}

function wantedCount(max: number): string {
  return `must be a whole number from 1 to ${max}`;
}
