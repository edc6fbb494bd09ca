/**
 * Finds the program that listens on a TCP port of this host. Uses the kernel's tables, because no
 * other program is sure to be installed. Changes nothing. Only used for a port known to be taken.
 *
 * @module
 */

import type { Processes } from "core/ports/processes.ts";
import type { Users } from "core/ports/users.ts";

/** The program at a port, as far as it is visible. */
export interface PortHolder {
  readonly user: string;
  /** Undefined if this process may not inspect others. */
  readonly process:
    | { readonly pid: number; readonly name: string; readonly unit: string | undefined }
    | undefined;
}

const ANSWER_MS_MAX = 10_000;
/** State of a listening socket in `/proc/net/tcp`. */
const LISTEN = "0A";
/** Large parts of /proc without file descriptors of a process. */
const PASSED = ["task", "net", "map_files", "ns", "attr", "fdinfo", "sys", "irq", "fs", "bus"];

/** Returns the holder of a port; undefined when nothing listens on it. */
export async function portHolder(
  { processes, users }: { readonly processes: Pick<Processes, "run">; readonly users: Users },
  port: number,
): Promise<PortHolder | undefined> {
  const run = async (command: string, args: readonly string[]) =>
    (await processes.run({ command, args, env: { LC_ALL: "C" }, timeoutMs: ANSWER_MS_MAX })).stdout;
  const tables = await run("/bin/cat", ["/proc/net/tcp", "/proc/net/tcp6"]);
  const socket = parseListener(tables, port);
  if (socket === undefined) return undefined;
  const user = (await users.byUid(socket.uid))?.name ?? `uid ${socket.uid}`;
  const passed = PASSED.flatMap((name, at) => [...(at === 0 ? [] : ["-o"]), "-name", name]);
  const found = await run("/usr/bin/find", [
    "/proc",
    "-mindepth",
    "2",
    "-maxdepth",
    "3",
    "(",
    ...passed,
    ")",
    "-prune",
    "-o",
    "-path",
    "/proc/[0-9]*/fd/*",
    "-lname",
    `socket:\\[${socket.inode}\\]`,
    "-print",
    "-quit",
  ]);
  const pid = /^\/proc\/(\d+)\/fd\//.exec(found)?.[1];
  if (pid === undefined) return { user, process: undefined };
  const name = (await run("/bin/cat", [`/proc/${pid}/comm`])).trim();
  const unit = parseUnit(await run("/bin/cat", [`/proc/${pid}/cgroup`]));
  return { user, process: { pid: Number(pid), name, unit } };
}

/** Finds the listening socket of a port in `/proc/net/tcp` and `/proc/net/tcp6`. */
export function parseListener(
  tables: string,
  port: number,
): { readonly uid: number; readonly inode: number } | undefined {
  const wanted = port.toString(16).toUpperCase().padStart(4, "0");
  for (const line of tables.split("\n")) {
    // Columns: sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
    const [, local = "", , state, , , , uid, , inode] = line.trim().split(/\s+/);
    if (state !== LISTEN || !local.endsWith(`:${wanted}`)) continue;
    return { uid: Number(uid), inode: Number(inode) };
  }
  return undefined;
}

/** Returns the service of a process from `/proc/<pid>/cgroup`; undefined for a login session. */
export function parseUnit(cgroups: string): string | undefined {
  // One of the hierarchies belongs to the manager; in the other every process is in the root.
  for (const [, path = ""] of cgroups.matchAll(/^(?:0:|\d+:name=systemd):(.*)$/gm)) {
    const last = path.split("/").findLast((part) => /\.(service|scope)$/.test(part));
    if (last !== undefined) return last.endsWith(".service") ? last : undefined;
  }
  return undefined;
}
