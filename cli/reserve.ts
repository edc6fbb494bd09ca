/**
 * Reserved space on the disk of the state, for the case that the disk is full. Every root action
 * must first be recorded in the audit log. On a full disk that fails, so not even `gc` could run.
 * `gc` therefore releases the reserve first. Only on a real host; under another root nothing is
 * reserved.
 *
 * @module
 */

import { readDisks } from "cli/disk_room.ts";
import { errorText, type Refusal, refusal } from "core/errors.ts";
import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import type { Processes } from "core/ports/processes.ts";
import type { Users } from "core/ports/users.ts";

/** The ports that the reserve needs. */
export interface ReservePorts {
  readonly files: Pick<Files, "stat" | "setMeta" | "remove">;
  readonly processes: Pick<Processes, "run">;
  readonly users: Pick<Users, "currentUid">;
}

/** Enough for the audit log, and for SQLite's writes while `gc` deletes. */
const RESERVE_BYTES = 16 * 1024 * 1024;
/** With less free space than this, no reserve is created. */
const LEFT_BYTES_MIN = 4 * RESERVE_BYTES;
const MAKE_MS_MAX = 10_000;

function isHostRoot({ users }: Pick<ReservePorts, "users">, paths: Paths): boolean {
  return paths.root === "/" && users.currentUid() === 0;
}

/** Creates the reserve if it is missing and the disk has room. Returns the reason for a failure. */
export async function keepReserve(
  ports: ReservePorts,
  paths: Paths,
): Promise<Refusal | undefined> {
  const { files, processes } = ports;
  if (!isHostRoot(ports, paths) || await files.stat(paths.reserve) !== undefined) return undefined;
  try {
    const [disk] = await readDisks(processes, [paths.state]);
    if (disk === undefined || disk.bytes.left < LEFT_BYTES_MIN) return undefined;
    const made = await processes.run({
      command: "/usr/bin/fallocate",
      args: ["-l", String(RESERVE_BYTES), "--", paths.reserve],
      env: { LC_ALL: "C" },
      timeoutMs: MAKE_MS_MAX,
    });
    if (made.code === 0) {
      await files.setMeta(paths.reserve, { mode: 0o600 });
      return undefined;
    }
    await files.remove(paths.reserve);
    return notMade(paths, made.stderr.trim());
  } catch (thrown) {
    return notMade(paths, errorText(thrown));
  }
}

/** Deletes the reserve, which frees its space. */
export async function giveUpReserve(ports: ReservePorts, paths: Paths): Promise<void> {
  if (isHostRoot(ports, paths)) await ports.files.remove(paths.reserve);
}

function notMade({ reserve }: Paths, why: string): Refusal {
  return refusal("reserve-not-made", `Cannot reserve disk space in "${reserve}": ${why}`, {
    details: ["On a full disk, fleetctl gc may not have enough space to start."],
  });
}
