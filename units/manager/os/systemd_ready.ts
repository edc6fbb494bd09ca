/**
 * Waits until a service that reports readiness (`X-FleetctlReady=log`, ADR 0004) has reported it.
 * systemd considers such a unit started as soon as its program runs, so a service that keeps
 * crashing would count as started. The ready event is looked up in the journal of the current run.
 *
 * @module
 */

import { type Backoff, backoffMs } from "core/concurrency/backoff.ts";
import { ServiceFault } from "units/manager/service_manager.ts";
import { START_MS_DEFAULT } from "units/manager/units/service_spec.ts";

/** Runs `systemctl` or `journalctl` and returns its result unchanged. */
export type RunProgram = (
  program: "systemctl" | "journalctl",
  args: readonly string[],
) => Promise<{ readonly code: number | undefined; readonly stdout: string }>;

/** For a host without a journal: a run that lasts this long counts as ready. */
const SILENT_MS_MAX = 15_000;
/** The interval grows, so that many services that start together are not polled constantly. */
const POLL: Backoff = { firstMs: 100, maxMs: 1_000 };
const READY_KEY = /^X-FleetctlReady=log$/m;
const READY_LINE = '"event":"ready"';

/** Resolves when the unit is ready; rejects when its run ends before that or takes too long. */
export async function awaitReady(unit: string, run: RunProgram): Promise<void> {
  const text = await run("systemctl", ["cat", "--no-pager", "--", unit]);
  if (text.code !== 0 || !READY_KEY.test(text.stdout)) return;
  const limitMs = await readyLimitMs(unit, run);
  const began = performance.now();
  let first: string | undefined;
  for (let polls = 0;; polls++) {
    const state = await stateOf(unit, run);
    first ??= state.invocation;
    // A new invocation means that systemd has already restarted the unit.
    if (state.active === "failed" || state.active === "inactive" || state.invocation !== first) {
      throw new ServiceFault(unit, `Cannot start ${unit}: it ended before it was ready`);
    }
    const output = await journalOf(first, run);
    if (output.includes(READY_LINE)) return;
    const waitedMs = performance.now() - began;
    if (output.trim() === "" && waitedMs > SILENT_MS_MAX) return;
    if (waitedMs > limitMs) {
      const seconds = limitMs / 1000;
      throw new ServiceFault(unit, `Cannot start ${unit}: it was not ready within ${seconds} s`);
    }
    await new Promise((resolve) => setTimeout(resolve, backoffMs(POLL, polls)));
  }
}

/**
 * Returns whether the current run of a unit is ready. A unit that does not report readiness is
 * ready when it is active.
 */
export async function isReady(unit: string, run: RunProgram): Promise<boolean> {
  const text = await run("systemctl", ["cat", "--no-pager", "--", unit]);
  if (text.code !== 0 || !READY_KEY.test(text.stdout)) return true;
  const state = await stateOf(unit, run);
  if (state.active !== "active") return false;
  const output = await journalOf(state.invocation, run);
  return output.includes(READY_LINE) || output.trim() === "";
}

/** The unit's start timeout: the limit that systemd would use for a service that notifies it. */
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
  // While the unit waits for a restart its state is "activating", but no run exists.
  const isBetween = value("SubState") === "auto-restart";
  return {
    active: isBetween ? "failed" : value("ActiveState"),
    invocation: value("InvocationID"),
  };
}

async function journalOf(invocation: string, run: RunProgram): Promise<string> {
  const { stdout } = await run("journalctl", [
    "--no-pager",
    "--quiet",
    "--output=cat",
    `_SYSTEMD_INVOCATION_ID=${invocation}`,
    // systemd's own entries for this run. If they are in the journal, a journal is kept, and a run
    // without other entries has logged nothing.
    "+",
    `INVOCATION_ID=${invocation}`,
  ]);
  return stdout;
}
