/**
 * The paths on which unix sockets of this host listen, read from the kernel. One short child
 * process reads them all: under a permission set, Deno cannot read below /proc.
 *
 * @module
 */

import type { Processes } from "core/ports/processes.ts";

/** Linux flag `__SO_ACCEPTCON`: the socket listens. */
const LISTENS = 0x10000;
const ANSWER_MS_MAX = 3_000;
/** Output limit. A line has about 100 bytes, so a host stays far below it. */
const BYTES_MAX = 64 * 1024 * 1024;

/** Reads the listeners from the kernel; undefined where they cannot be read. */
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

/** Parses `/proc/net/unix`; returns the number of sockets that listen on each path. */
export function parseUnixListeners(text: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const line of text.split("\n")) {
    // Columns: Num RefCount Protocol Flags Type St Inode Path
    const [, flags = "", path] = /^\S+ \S+ \S+ ([0-9A-Fa-f]{8}) \S+ \S+ +\d+ (\/.*)$/.exec(line) ??
      [];
    if (path === undefined || (parseInt(flags, 16) & LISTENS) === 0) continue;
    found.set(path, (found.get(path) ?? 0) + 1);
  }
  return found;
}
