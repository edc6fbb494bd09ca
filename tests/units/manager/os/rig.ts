/**
 * A root in a temp folder with a real manager on it, and events that tests wait for.
 *
 * @module
 */

import assert from "node:assert/strict";
import net from "node:net";
import type { EmbeddedManager, UnitEvent } from "units/manager/embedded.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import { type EmbeddedOptions, startEmbeddedManager } from "units/manager/os/start_manager.ts";
import { openKernel } from "units/manager/os/processes/kernel.ts";
import { readTable } from "core/os/proc.ts";
import { openHost } from "core/os/host.ts";
import { stderrLog } from "core/os/log.ts";
import { denoFiles } from "core/os/files.ts";
import { systemClock } from "core/os/clock.ts";

/** Real adapters without output. */
export const quiet = stderrLog({ program: "test", write: () => {} });
export const files = denoFiles();
export const clock = systemClock();
export const kernel = openKernel();
const host = openHost({ log: { program: "test", level: "error" } });
export const sockets = host.sockets;
export const random = host.random;

/** A manager under test. */
export interface Rig extends AsyncDisposable {
  readonly root: string;
  readonly paths: Paths;
  readonly manager: EmbeddedManager;
  readonly events: readonly UnitEvent[];
  /** Writes unit files and reloads. */
  write(units: Readonly<Record<string, string>>): Promise<void>;
  /** Resolves with the first matching event, past or future. */
  until(fits: (event: UnitEvent) => boolean): Promise<UnitEvent>;
  /** Resolves with the next event of a kind for a unit, after the last one that it returned. */
  next(kind: UnitEvent["kind"], unit: string): Promise<UnitEvent>;
  path(name: string): string;
}

/** A root without a manager. */
export async function makeRoot(): Promise<{ root: string; paths: Paths }> {
  const root = await Deno.makeTempDir({ prefix: "fm-" });
  const paths = pathsUnder(root);
  await Deno.mkdir(paths.units, { recursive: true });
  return { root, paths };
}

/** Options of a manager with the machine's real adapters. */
export function realOptions(paths: Paths): EmbeddedOptions {
  return { paths, files, clock, random, sockets, log: quiet, sweepMs: 20 };
}

/** Starts a manager on a new root with these units. */
export async function startRig(
  units: Readonly<Record<string, string>> = {},
  options: Partial<EmbeddedOptions> & { readonly paths?: Paths } = {},
): Promise<Rig> {
  const { root, paths } = options.paths === undefined
    ? await makeRoot()
    : { root: options.paths.root, paths: options.paths };
  const events: UnitEvent[] = [];
  const waiting = new Set<() => void>();
  const write = async (more: Readonly<Record<string, string>>) => {
    for (const [name, text] of Object.entries(more)) {
      await Deno.writeTextFile(`${paths.units}/${name}`, text);
    }
  };
  await write(units);
  const started = await startEmbeddedManager({
    ...realOptions(paths),
    ...options,
    onEvent: (event) => {
      events.push(event);
      for (const wake of [...waiting]) wake();
    },
  });
  assert(started.ok, JSON.stringify(started));
  const manager = started.value;
  let seen = 0;
  const find = async (fits: (event: UnitEvent) => boolean, from: number) => {
    while (true) {
      const at = events.findIndex((event, index) => index >= from && fits(event));
      if (at >= 0) return at;
      await new Promise<void>((resolve) => {
        const wake = () => {
          waiting.delete(wake);
          resolve();
        };
        waiting.add(wake);
      });
    }
  };
  return {
    root,
    paths,
    manager,
    events,
    write: async (more) => {
      await write(more);
      await manager.reload();
    },
    until: async (fits) => events[await find(fits, 0)] as UnitEvent,
    next: async (kind, unit) => {
      const at = await find((event) => event.kind === kind && event.unit === unit, seen);
      seen = at + 1;
      return events[at] as UnitEvent;
    },
    path: (name) => `${root}/${name}`,
    [Symbol.asyncDispose]: async () => {
      await manager.close();
      await Deno.remove(root, { recursive: true });
    },
  };
}

/** Shell command that reports readiness, for units with `X-FleetctlReady=log`. */
export const READY_LINE = `echo '{"event":"ready"}' >&2`;

/** A service that runs a shell script. */
export function shell(script: string, more = ""): string {
  const escaped = script.replaceAll("\\", "\\\\").replaceAll('"', '\\"')
    .replaceAll("%", "%%").replaceAll("$", "$$$$");
  return `[Service]\nExecStart=/bin/sh -c "${escaped}"\n${more}\n`;
}

/** Pids of live processes whose environment names this root's manager. */
export function processesOf(paths: Paths): readonly number[] {
  return readTable(kernel).map((entry) => entry.pid).filter((pid) =>
    kernel.readProc(`/proc/${pid}/environ`)?.includes(`FLEETCTL_MANAGED_BY=${paths.managerSocket}`)
  );
}

/** Open descriptors of this process. */
export function descriptorCount(): number {
  return [...Deno.readDirSync(`/proc/${Deno.pid}/fd`)].length;
}

/** Connects to a unix socket; resolves when connected. */
export function connect(path: string): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ path, allowHalfOpen: true });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      socket.on("error", () => {});
      resolve(socket);
    });
  });
}

/** Reads until the text has `length` characters or the peer closes. */
export function read(socket: net.Socket, length: number): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const finish = () => {
      socket.off("data", onData);
      socket.off("end", finish);
      socket.off("close", finish);
      resolve(text);
    };
    const onData = (chunk: Uint8Array) => {
      text += new TextDecoder().decode(chunk);
      if (text.length >= length) finish();
    };
    socket.on("data", onData);
    socket.once("end", finish);
    socket.once("close", finish);
  });
}

/** Resolves when the peer has closed its side. */
export function ended(socket: net.Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.readableEnded || socket.destroyed) return resolve();
    socket.once("end", resolve);
    socket.once("close", () => resolve());
    socket.resume();
  });
}

/** Closes a connection; resolves when it is closed. */
export function hangUp(socket: net.Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) return resolve();
    socket.once("close", () => resolve());
    socket.destroy();
  });
}

/** Defines a test that must leave no operation and no resource behind. */
export function leakless(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, fn, sanitizeOps: true, sanitizeResources: true });
}
