/**
 * Waits until a service that says when it is ready (`X-FleetctlReady=log`, ADR 0004) has said so.
 * systemd knows such a unit as started when its program runs; one that ends a moment later, again
 * and again, would pass for started. The words are looked for in the journal of this one run.
 *
 * @module
 */

import { ServiceFault } from "core/ports.ts";

/** Starts `systemctl` or `journalctl`; the answer as it is. */
export type RunProgram = (
  program: "systemctl" | "journalctl",
  args: readonly string[],
) => Promise<{ readonly code: number | undefined; readonly stdout: string }>;

/** A service that takes longer is reported; on a busy host with many agents seconds are normal. */
const READY_MS_MAX = 90_000;
/** A host that keeps no journal has nothing to tell: a run that lasts this long counts as ready. */
const SILENT_MS_MAX = 15_000;
const LOOK_MS = 100;
/** The pace slows down, so that many services that start together are not asked all the time. */
const LOOK_MS_MAX = 1_000;
const READY_KEY = /^X-FleetctlReady=log$/m;
const READY_LINE = '"event":"ready"';

/** Resolves when the unit is ready; rejects when its run ends before that or takes too long. */
export async function awaitReady(unit: string, run: RunProgram): Promise<void> {
  const text = await run("systemctl", ["cat", "--no-pager", "--", unit]);
  if (text.code !== 0 || !READY_KEY.test(text.stdout)) return;
  const began = performance.now();
  let first: string | undefined;
  for (let pause = LOOK_MS;; pause = Math.min(pause * 2, LOOK_MS_MAX)) {
    const state = await stateOf(unit, run);
    first ??= state.invocation;
    // A new invocation means that systemd has started it again already.
    if (state.active === "failed" || state.active === "inactive" || state.invocation !== first) {
      throw new ServiceFault(unit, `Cannot start ${unit}: it ended before it was ready`);
    }
    const said = await saidBy(first, run);
    if (said.includes(READY_LINE)) return;
    const waitedMs = performance.now() - began;
    if (said.trim() === "" && waitedMs > SILENT_MS_MAX) return;
    if (waitedMs > READY_MS_MAX) {
      const seconds = READY_MS_MAX / 1000;
      throw new ServiceFault(unit, `Cannot start ${unit}: it was not ready within ${seconds} s`);
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

async function stateOf(unit: string, run: RunProgram) {
  const args = ["show", "--no-pager", "--property=ActiveState,SubState,InvocationID", "--", unit];
  const { stdout } = await run("systemctl", args);
  const value = (key: string) => new RegExp(`^${key}=(.*)$`, "m").exec(stdout)?.[1] ?? "";
  // Between two runs the state is "activating", and waiting is no run.
  const isBetween = value("SubState") === "auto-restart";
  return {
    active: isBetween ? "failed" : value("ActiveState"),
    invocation: value("InvocationID"),
  };
}

async function saidBy(invocation: string, run: RunProgram): Promise<string> {
  const { stdout } = await run("journalctl", [
    "--no-pager",
    "--quiet",
    "--output=cat",
    `_SYSTEMD_INVOCATION_ID=${invocation}`,
  ]);
  return stdout;
}
