/**
 * Checks the free bytes and the free inodes of the disks that this host uses. Many small files can
 * use up the inodes first. Changes nothing. A disk that cannot be queried is not reported.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { Paths } from "core/paths.ts";
import type { Processes } from "core/ports/processes.ts";
import { quoteShell } from "core/text/quote.ts";

/** One disk and the fleetctl folders on it. */
export interface Disk {
  readonly target: string;
  readonly folders: readonly string[];
  readonly bytes: Room;
  /** Inodes. Both values are zero on a disk without a fixed number of them. */
  readonly entries: Room;
}

/** The total, and how much of it an unprivileged program can still use. */
export interface Room {
  readonly all: number;
  readonly left: number;
}

const MIB = 1024 * 1024;
/**
 * With fewer free bytes than this, the disk of a server fills up within hours. A small file system,
 * such as a /run of a few MiB, must have `PART_LEFT_MIN` of its size free instead.
 */
const BYTES_LEFT_MIN = 512 * MIB;
/** Below this, writes fail now or with the next database page. */
const FULL_BYTES_MAX = MIB;
const FULL_PART_MAX = 0.01;
const ENTRIES_LEFT_MIN = 10_000;
const PART_LEFT_MIN = 0.05;
/** Time limit for `df`. A hung disk must not block the verb that diagnoses the host. */
const ANSWER_MS_MAX = 3_000;
const COLUMNS = "target,size,avail,itotal,iavail,file";

/** Maps each checked folder to what depends on free space there. */
function foldersOf(paths: Paths): ReadonlyMap<string, string> {
  // Only under `/` does systemd give units a private /tmp and /var/tmp (PrivateTmp=).
  const ofUnits = paths.root === "/" ? [paths.at("/tmp"), paths.at("/var/tmp")] : [];
  return new Map([
    ...ofUnits.map((each) =>
      [each, "a unit that starts while the disk is full gets a read-only one"] as const
    ),
    [paths.state, "contains the ledger, the secrets, the transcripts and the installed MCPs"],
    [paths.logs, "contains the logs; a full disk stops logging"],
    [paths.run, "contains the sockets"],
  ]);
}

/** Reports disks that are nearly full, with commands that show what uses the space. */
export async function diskProblems({ ports, paths }: VerbContext): Promise<readonly Refusal[]> {
  const folders = foldersOf(paths);
  try {
    const disks = await readDisks(ports.processes, [...folders.keys()]);
    return disks.flatMap((disk) => problemsOf(disk, folders));
  } catch {
    return [];
  }
}

/** Reads the disks of these folders. */
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
  // `df` reports a missing folder on stderr and still prints the others on stdout.
  return parseDisks(done.stdout);
}

/** Parses the output of `df`. Skips lines in another form. */
function parseDisks(text: string): readonly Disk[] {
  const disks = new Map<string, Disk>();
  for (const line of text.split("\n").slice(1)) {
    // Mount points and folders may contain blanks, so the numbers between them anchor the match.
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
  const details = folders.map((each) => `${each}: ${purposes.get(each) ?? "is on this disk"}`);
  const at = quoteShell(target);
  const found: Refusal[] = [];
  const measure = `du -xd2 -m ${at} | sort -n | tail -n 20`;
  if (bytes.left < Math.min(FULL_BYTES_MAX, bytes.all * FULL_PART_MAX)) {
    found.push(refusal(
      "disk-full",
      `The disk at "${target}" is full: ${mebibytes(bytes.left)} MiB left of ` +
        `${mebibytes(bytes.all)}, must have at least ${mebibytes(bytesWanted)}`,
      { details, hints: ["fleetctl gc", measure] },
    ));
  } else if (bytes.left < bytesWanted) {
    found.push(refusal(
      "disk-nearly-full",
      `The disk at "${target}" has ${mebibytes(bytes.left)} MiB left of ${mebibytes(bytes.all)}, ` +
        `must have at least ${mebibytes(bytesWanted)}`,
      { details, hints: [measure, "fleetctl gc --dry-run"] },
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
