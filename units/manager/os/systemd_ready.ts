/**
 * Waits until a service that says when it is ready (`X-FleetctlReady=log`, ADR 0004) has said so.
 * systemd knows such a unit as started when its program runs; one that ends a moment later, again
 * and again, would pass for started. The words are looked for in the journal of this one run.
 *
 * @module
 */

import { type Backoff, backoffMs } from "core/concurrency/backoff.ts";
import { ServiceFault } from "units/manager/service_manager.ts";
import { START_MS_DEFAULT } from "units/manager/units/service_spec.ts";

/** Starts `systemctl` or `journalctl`; the answer as it is. */
export type RunProgram = (
  program: "systemctl" | "journalctl",
  args: readonly string[],
) => Promise<{ readonly code: number | undefined; readonly stdout: string }>;

/** A host that keeps no journal has nothing to tell: a run that lasts this long counts as ready. */
const SILENT_MS_MAX = 15_000;
/** The pace slows down, so that many services that start together are not asked all the time. */
const LOOK: Backoff = { firstMs: 100, maxMs: 1_000 };
const READY_KEY = /^X-FleetctlReady=log$/m;
const READY_LINE = '"event":"ready"';

/** Resolves when the unit is ready; rejects when its run ends before that or takes too long. */
export async function awaitReady(unit: string, run: RunProgram): Promise<void> {
  const text = await run("systemctl", ["cat", "--no-pager", "--", unit]);
  if (text.code !== 0 || !READY_KEY.test(text.stdout)) return;
  const limitMs = await readyLimitMs(unit, run);
  const began = performance.now();
  let first: string | undefined;
  for (let looks = 0;; looks++) {
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
    if (waitedMs > limitMs) {
      const seconds = limitMs / 1000;
      throw new ServiceFault(unit, `Cannot start ${unit}: it was not ready within ${seconds} s`);
    }
    await new Promise((resolve) => setTimeout(resolve, backoffMs(LOOK, looks)));
  }
}

/**
 * Tells whether the present run of a unit is ready; one that does not say so is when it is active.
 */
export async function isReady(unit: string, run: RunProgram): Promise<boolean> {
  const text = await run("systemctl", ["cat", "--no-pager", "--", unit]);
  if (text.code !== 0 || !READY_KEY.test(text.stdout)) return true;
  const state = await stateOf(unit, run);
  if (state.active !== "active") return false;
  const said = await saidBy(state.invocation, run);
  return said.includes(READY_LINE) || said.trim() === "";
}

/** The unit's own bound: what systemd would use for a service that tells it of its readiness. */
async function readyLimitMs(unit: string, run: RunProgram): Promise<number> {
  const args = ["show", "--no-pager", "--value", "--property=TimeoutStartUSec", "--", unit];
  const { stdout } = await run("systemctl", args);
  return parseSpanMs(stdout.trim()) ?? START_MS_DEFAULT;
}

const SPAN_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000 };

/** Parses a span as `systemctl show` prints it, `1min 30s`; undefined for `infinity` and others. */
function parseSpanMs(text: string): number | undefined {
  let sum = 0;
  for (const part of text.split(" ")) {
    const [, count, unit = ""] = /^(\d+(?:\.\d+)?)([a-z]+)$/.exec(part) ?? [];
    const factor = SPAN_MS[unit];
    if (count === undefined || factor === undefined) return undefined;
    sum += Number(count) * factor;
  }
  return sum > 0 ? sum : undefined;
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
    // What systemd says of this run: where that is kept, a service that says nothing is silent.
    "+",
    `INVOCATION_ID=${invocation}`,
  ]);
  return stdout;
}
