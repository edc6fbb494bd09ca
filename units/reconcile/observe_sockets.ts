/**
 * Checks whether clients can reach the sockets of active units: the file at the path, its owner and
 * mode, and its listener. A unit stays active when its socket file is removed, so the service
 * manager alone cannot detect that. Reads only; queries the kernel once for all sockets.
 *
 * @module
 */

import type { FileStat } from "core/files/file_stat.ts";
import type { OwnerIds } from "core/files/rendered_file.ts";
import type { Files } from "core/ports/files.ts";
import type { UnitStatus } from "core/ports/unit.ts";
import type { ServiceManager } from "units/manager/service_manager.ts";

/** A socket that should exist while its unit is active. */
export interface WantedSocket {
  readonly unit: string;
  readonly path: string;
  /** Undefined where the listening program sets it. */
  readonly mode?: number | undefined;
  /** Undefined where owners are left unchanged. */
  readonly owner?: OwnerIds | undefined;
}

/** Dependencies of the check. */
export interface SocketPorts {
  readonly files: Pick<Files, "stat">;
  readonly services: Pick<ServiceManager, "listeners" | "isReady">;
}

/** Returns the fault of each socket, by unit; sockets of inactive units are omitted. */
export async function observeSockets(
  wanted: readonly WantedSocket[],
  statuses: ReadonlyMap<string, UnitStatus>,
  { files, services }: SocketPorts,
): Promise<ReadonlyMap<string, string>> {
  const faults = new Map<string, string>();
  const active = wanted.filter(({ unit }) => statuses.get(unit)?.active === "active");
  if (active.length === 0) return faults;
  const listeners = await services.listeners?.();
  if (listeners === undefined) return faults;
  await Promise.all(active.map(async (socket) => {
    const stat = await files.stat(socket.path);
    const fault = socketFault(socket, { stat, count: listeners.get(socket.path) ?? 0 });
    if (fault === undefined) return;
    // A service is active before it listens.
    if (socket.unit.endsWith(".service") && await services.isReady?.(socket.unit) === false) return;
    faults.set(socket.unit, fault);
  }));
  return faults;
}

/** Returns the fault of one socket; undefined when clients can reach it. */
export function socketFault(
  { mode, owner }: WantedSocket,
  seen: { readonly stat: FileStat | undefined; readonly count: number },
): string | undefined {
  const { stat, count } = seen;
  if (stat === undefined) return "its file is gone";
  if (stat.kind !== "other") return `a ${stat.kind} is at its path`;
  // More than one is not a fault. Any user can make the kernel list any path, with an abstract name
  // that contains a line feed, or in a mount namespace. That must not restart another user's units.
  if (count === 0) return "it has no listener";
  const isMode = mode === undefined || stat.mode === mode;
  const isOwner = owner === undefined || (stat.uid === owner.uid && stat.gid === owner.gid);
  if (isMode && isOwner) return undefined;
  return `its file is ${stat.uid}:${stat.gid} ${octal(stat.mode)}, must be ` +
    `${owner?.uid ?? stat.uid}:${owner?.gid ?? stat.gid} ${octal(mode ?? stat.mode)}`;
}

function octal(mode: number): string {
  return `0${mode.toString(8)}`;
}
