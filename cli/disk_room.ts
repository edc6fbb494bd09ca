/**
 * Whether the disks that this host works on have room: bytes, and entries, which run out on their
 * own where many small files are. Only looks; a disk that cannot be asked is no finding.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { Paths } from "core/paths.ts";
import type { Processes } from "core/ports/processes.ts";
import { quoteShell } from "core/text/quote.ts";

/** One disk and the folders of ours that are on it. */
export interface Disk {
  readonly target: string;
  readonly folders: readonly string[];
  readonly bytes: Room;
  /** What a disk without a fixed number of entries has of them is zero of zero. */
  readonly entries: Room;
}

/** What there is, and what is left of it for an ordinary program. */
export interface Room {
  readonly all: number;
  readonly left: number;
}

const MIB = 1024 * 1024;
/**
 * Below this a server's disk is full within hours. A small file system, such as a /run of a few
 * MiB, must have a share of its size free instead.
 */
const BYTES_LEFT_MIN = 512 * MIB;
/** Below this what is written fails, now or with the next page of a database. */
const FULL_BYTES_MAX = MIB;
const FULL_PART_MAX = 0.01;
const ENTRIES_LEFT_MIN = 10_000;
const PART_LEFT_MIN = 0.05;
/** A disk that hangs must not hang the verb that is asked what is wrong. */
const ANSWER_MS_MAX = 3_000;
const COLUMNS = "target,size,avail,itotal,iavail,file";

/** What each folder is for, as far as a full disk under it is felt. */
function foldersOf(paths: Paths): ReadonlyMap<string, string> {
  // Units of another root have no /tmp of their own.
  const ofUnits = paths.root === "/" ? [paths.at("/tmp"), paths.at("/var/tmp")] : [];
  return new Map([
    ...ofUnits.map((each) =>
      [each, "units that start get their own there, read-only without room"] as const
    ),
    [paths.state, "ledger, secrets, transcripts and trees of MCPs are there"],
    [paths.logs, "nothing is logged without room there"],
    [paths.run, "sockets are there"],
  ]);
}

/** Says which disks are nearly full, with what shows where the room went. */
export async function diskProblems({ ports, paths }: VerbContext): Promise<readonly Refusal[]> {
  const folders = foldersOf(paths);
  try {
    const disks = await readDisks(ports.processes, [...folders.keys()]);
    return disks.flatMap((disk) => problemsOf(disk, folders));
  } catch {
    return [];
  }
}

/** Asks for the disks that folders are on. */
export async function readDisks(
  processes: Pick<Processes, "run">,
  folders: readonly string[],
): Promise<readonly Disk[]> {
  const done = await processes.run({
    command: "df",
    args: [`--output=${COLUMNS}`, "--block-size=1", "--", ...folders],
    env: { PATH: "/usr/bin:/bin", LC_ALL: "C" },
    timeoutMs: ANSWER_MS_MAX,
  });
  // A folder that is not there yet is said on stderr; the others stand on stdout.
  return parseDisks(done.stdout);
}

/** Reads what `df` printed; lines of another form are passed over. */
function parseDisks(text: string): readonly Disk[] {
  const disks = new Map<string, Disk>();
  for (const line of text.split("\n").slice(1)) {
    // A mount point may hold blanks, and so may a folder: the numbers between them are the anchor.
    const [, target, size, avail, itotal, iavail, folder] =
      /^(\S.*?) +(\d+) +(\d+) +(\d+|-) +(\d+|-) +(\/.*)$/.exec(line) ?? [];
    if (target === undefined || folder === undefined) continue;
    disks.set(target, {
      target,
      folders: [...disks.get(target)?.folders ?? [], folder],
      bytes: { all: Number(size), left: Number(avail) },
      entries: { all: Number(itotal) || 0, left: Number(iavail) || 0 },
    });
  }
  return [...disks.values()];
}

function problemsOf(disk: Disk, purposes: ReadonlyMap<string, string>): readonly Refusal[] {
  const { target, bytes, entries, folders } = disk;
  const bytesWanted = Math.min(BYTES_LEFT_MIN, bytes.all * PART_LEFT_MIN);
  const entriesWanted = Math.ceil(Math.min(ENTRIES_LEFT_MIN, entries.all * PART_LEFT_MIN));
  const details = folders.map((each) => `${each}: ${purposes.get(each) ?? "it is on that disk"}`);
  const at = quoteShell(target);
  const found: Refusal[] = [];
  const look = `du -xd2 -m ${at} | sort -n | tail -n 20`;
  if (bytes.left < Math.min(FULL_BYTES_MAX, bytes.all * FULL_PART_MAX)) {
    found.push(refusal(
      "disk-full",
      `The disk at "${target}" is full: ${mebibytes(bytes.left)} MiB left of ` +
        `${mebibytes(bytes.all)}, must have at least ${mebibytes(bytesWanted)}`,
      { details, hints: ["fleetctl gc", look] },
    ));
  } else if (bytes.left < bytesWanted) {
    found.push(refusal(
      "disk-nearly-full",
      `The disk at "${target}" has ${mebibytes(bytes.left)} MiB left of ${mebibytes(bytes.all)}, ` +
        `must have at least ${mebibytes(bytesWanted)}`,
      { details, hints: [look, "fleetctl gc --dry-run"] },
    ));
  }
  const lookEntries = `du -xd2 --inodes ${at} | sort -n | tail -n 20`;
  if (entries.left === 0 && entriesWanted > 0) {
    found.push(refusal(
      "disk-entries-gone",
      `The disk at "${target}" has no entries (inodes) left of ${entries.all}, ` +
        `must have at least ${entriesWanted}`,
      { details, hints: ["fleetctl gc", lookEntries] },
    ));
  } else if (entries.left < entriesWanted) {
    found.push(refusal(
      "disk-entries-nearly-gone",
      `The disk at "${target}" has ${entries.left} entries (inodes) left of ${entries.all}, ` +
        `must have at least ${entriesWanted}`,
      { details, hints: [lookEntries] },
    ));
  }
  return found;
}

function mebibytes(bytes: number): string {
  const mib = bytes / MIB;
  return mib < 10 ? mib.toFixed(1) : String(Math.round(mib));
}
