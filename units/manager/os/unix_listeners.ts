/**
 * The paths on which unix sockets of this host listen, as the kernel tells them. One short child
 * for all of them: Deno itself reads nothing below /proc under a permission set.
 *
 * @module
 */

import type { Processes } from "core/ports/processes.ts";

/** `__SO_ACCEPTCON` of Linux: the socket listens. */
const LISTENS = 0x10000;
const ANSWER_MS_MAX = 3_000;
/** A line has about 100 bytes; more sockets than this are not on one host. */
const BYTES_MAX = 64 * 1024 * 1024;

/** Asks the kernel; undefined where it does not tell. */
export async function readUnixListeners(
  processes: Pick<Processes, "run">,
): Promise<ReadonlyMap<string, number> | undefined> {
  const { code, stdout } = await processes.run({
    command: "/bin/cat",
    args: ["/proc/net/unix"],
    env: {},
    timeoutMs: ANSWER_MS_MAX,
    outputBytesMax: BYTES_MAX,
  });
  return code === 0 ? parseUnixListeners(stdout) : undefined;
}

/** Parses `/proc/net/unix`: how many sockets listen on each path. */
export function parseUnixListeners(text: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const line of text.split("\n")) {
    // Num RefCount Protocol Flags Type St Inode Path
    const [, flags = "", path] = /^\S+ \S+ \S+ ([0-9A-Fa-f]{8}) \S+ \S+ +\d+ (\/.*)$/.exec(line) ??
      [];
    if (path === undefined || (parseInt(flags, 16) & LISTENS) === 0) continue;
    found.set(path, (found.get(path) ?? 0) + 1);
  }
  return found;
}
