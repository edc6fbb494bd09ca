/**
 * Archives the home of a removed agent into one file that only root can read. Symbolic links are
 * stored as links, other file systems below the home are skipped, and holes of sparse files are not
 * read.
 *
 * The home is measured before anything is removed. The archive cannot grow beyond a share of the
 * space that was free at that time. A partial archive has the agent's name and no time, so the next
 * run replaces it.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { refusal } from "core/errors.ts";
import type { AgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { HOUR_MS } from "core/text/duration.ts";

const ARCHIVE_MS_MAX = HOUR_MS;
/** A home whose entries cannot be counted within this time would take hours to archive. */
const MEASURE_MS_MAX = 60_000;
/**
 * Largest part of the free space that an archive may use. The ledger and the roles write there too.
 */
const FREE_SHARE_MAX = 0.8;
/** `ulimit -f` counts blocks of this size. */
const BLOCK_BYTES = 512;
const ENV = { PATH: "/usr/bin:/bin", LC_ALL: "C" } as const;
/** Prints the size of the home on disk and the free space of the archive folder. */
const MEASURE = `set -eu; du --summarize --one-file-system --block-size=1 -- "$1" | cut -f1
df --output=avail --block-size=1 -- "$2" | tail -n 1`;
/** The umask keeps a growing archive private. Only a complete archive gets its final name. */
const ARCHIVE = `set -eu; umask 077; ulimit -f "$4"
nice tar --create --gzip --sparse --one-file-system --file "$5" --directory "$2" -- "$3"
sync -- "$5"; mv -fT -- "$5" "$1"`;

/** Refuses a home that is too large to archive or cannot be measured. Writes nothing. */
export async function checkArchive(context: VerbContext, agent: AgentName): Promise<Result<void>> {
  const { ports, paths } = context;
  if (await ports.files.stat(paths.home(agent)) === undefined) return ok(undefined);
  const sizes = await measure(context, agent);
  return sizes.ok ? ok(undefined) : sizes;
}

/** Returns the maximum size of the archive in bytes. */
async function measure(context: VerbContext, agent: AgentName): Promise<Result<number>> {
  const { ports, paths } = context;
  const home = paths.home(agent);
  const isThere = await ports.files.stat(paths.archiveDir) !== undefined;
  const done = await ports.processes.run({
    command: "/bin/sh",
    args: ["-c", MEASURE, "sh", home, isThere ? paths.archiveDir : paths.state],
    env: ENV,
    timeoutMs: MEASURE_MS_MAX,
  });
  const [used, free] = done.stdout.trim().split("\n").map(Number);
  if (done.code !== 0 || used === undefined || free === undefined) {
    const found = done.timedOut
      ? `it could not be measured within ${MEASURE_MS_MAX / 1000} s`
      : "it could not be measured";
    return err(tooLarge(agent, found, done.stderr.trim().split("\n").slice(0, 5)));
  }
  const bytesMax = Math.floor(free * FREE_SHARE_MAX);
  return used <= bytesMax ? ok(bytesMax) : err(tooLarge(
    agent,
    `its size is ${megabytes(used)}, must be at most ${megabytes(bytesMax)}, ` +
      `${FREE_SHARE_MAX * 100} % of the free space in "${paths.archiveDir}"`,
  ));
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}

function tooLarge(agent: AgentName, found: string, details: readonly string[] = []) {
  return refusal("home-too-large", `Cannot archive the home of agent "${agent}": ${found}`, {
    details: details.filter((line) => line !== ""),
    hints: [`fleetctl agents remove ${agent} --yes --home keep`],
  });
}

/** Archives the home. Returns undefined when there is none. */
export async function archiveHome(
  context: VerbContext,
  agent: AgentName,
): Promise<Result<string | undefined>> {
  const { ports, paths } = context;
  const home = paths.home(agent);
  const stat = await ports.files.stat(home);
  if (stat === undefined) return ok(undefined);
  if (stat.kind !== "directory") {
    return err(failed(agent, `"${home}" is not a folder`, []));
  }
  const bytesMax = await measure(context, agent);
  if (!bytesMax.ok) return bytesMax;
  await ports.files.ensureDir(paths.archiveDir, { mode: 0o700 });
  const day = new Date(ports.clock.now()).toISOString().replace(/[-:]|\.\d+/g, "");
  const file = `${paths.archiveDir}/${agent}-${day}.tar.gz`;
  const part = `${paths.archiveDir}/${agent}.part`;
  const blocks = String(Math.floor(bytesMax.value / BLOCK_BYTES));
  const done = await ports.processes.run({
    command: "/bin/sh",
    args: ["-c", ARCHIVE, "sh", file, folderOf(home), agent, blocks, part],
    env: ENV,
    timeoutMs: ARCHIVE_MS_MAX,
  });
  if (done.code === 0) return ok(file);
  await ports.files.remove(part);
  const errorLines = done.stderr.trim().split("\n").slice(0, 5);
  return err(failed(agent, `tar ended with ${done.code ?? done.signal}`, errorLines));
}

/**
 * Empties an archived home before the account is deleted, because it may contain very many files.
 */
export async function emptyHome(
  { ports, paths }: VerbContext,
  agent: AgentName,
): Promise<Result<void>> {
  const home = paths.home(agent);
  if (await ports.files.stat(home) === undefined) return ok(undefined);
  const done = await ports.processes.run({
    command: "/usr/bin/find",
    // `-P` and `-xdev` keep `find` inside the home: it follows no link and crosses no mount.
    args: ["-P", home, "-xdev", "-mindepth", "1", "-delete"],
    env: ENV,
    timeoutMs: ARCHIVE_MS_MAX,
  });
  if (done.code === 0) return ok(undefined);
  const errorLines = done.stderr.trim().split("\n").slice(0, 5);
  return err(failed(agent, `"${home}" could not be emptied after that`, errorLines));
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

function failed(agent: AgentName, found: string, details: readonly string[]) {
  return refusal("archive-failed", `Cannot archive the home of agent "${agent}": ${found}`, {
    details,
    hints: [
      `fleetctl agents remove ${agent} --yes`,
      `fleetctl agents remove ${agent} --yes --home keep`,
    ],
  });
}
