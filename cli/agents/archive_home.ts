/**
 * The home of a removed agent as one file that only root can read. Links are kept as links, and other
 * file systems below the home are left out; of a sparse file only what is there is read. A second
 * run replaces an archive that was cut short.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { refusal } from "core/errors.ts";
import type { AgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";

const ARCHIVE_MS_MAX = 3_600_000;
/** The umask keeps the archive from everybody while it grows; it is whole once it has its name. */
const ARCHIVE = `set -eu; umask 077
tar --create --gzip --sparse --one-file-system --file "$1.part" --directory "$2" -- "$3"
sync -- "$1.part"; mv -fT -- "$1.part" "$1"`;

/** Archives the home; undefined when there is none. */
export async function archiveHome(
  context: VerbContext,
  agent: AgentName,
): Promise<Result<string | undefined>> {
  const { ports, paths } = context;
  const home = paths.home(agent);
  const stat = await ports.files.stat(home);
  if (stat === undefined) return ok(undefined);
  if (stat.kind !== "directory") {
    return err(failed(agent, `"${home}" is no folder`, []));
  }
  await ports.files.ensureDir(paths.archiveDir, { mode: 0o700 });
  const day = new Date(ports.clock.now()).toISOString().replace(/[-:]|\.\d+/g, "");
  const file = `${paths.archiveDir}/${agent}-${day}.tar.gz`;
  const done = await ports.processes.run({
    command: "/bin/sh",
    args: ["-c", ARCHIVE, "sh", file, home.slice(0, home.lastIndexOf("/")), agent],
    env: { PATH: "/usr/bin:/bin", LC_ALL: "C" },
    timeoutMs: ARCHIVE_MS_MAX,
  });
  if (done.code === 0) return ok(file);
  await ports.files.remove(`${file}.part`);
  const words = done.stderr.trim().split("\n").slice(0, 5);
  return err(failed(agent, `tar ended with ${done.code ?? done.signal}`, words));
}

function failed(agent: AgentName, found: string, details: readonly string[]) {
  return refusal("archive-failed", `Cannot archive the home of agent "${agent}": ${found}`, {
    details,
    hints: [`fleetctl agents remove ${agent} --yes`],
  });
}
