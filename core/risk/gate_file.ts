/**
 * The rendered gate file of one MCP. It is reread after every change, so that a newly blocked tool
 * is refused from the next call on. A missing or unreadable file refuses every call.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import type { Paths } from "core/paths.ts";
import type { Clock } from "core/ports/clock.ts";
import { FileFault, type Files } from "core/ports/files.ts";
import { err, ok, type Result } from "core/result.ts";
import { policyDigest, type ToolCall } from "core/risk/call.ts";
import { decideCall } from "core/risk/decide.ts";
import { type Gate, parseGate } from "core/risk/rules.ts";

/** Returns the current gate. */
export interface GateReader {
  current(): Promise<Result<Gate>>;
}

/**
 * Creates a function that returns the digest of the gate's current rules, or the refusal of a call
 * that they block.
 */
export function gatePolicy(gate: GateReader): (call: ToolCall) => Promise<Result<string>> {
  return async (call) => {
    const current = await gate.current();
    if (!current.ok) return current;
    const verdict = decideCall(current.value, call);
    return verdict.decision === "block" ? err(verdict.why) : ok(await policyDigest(current.value));
  };
}

/** Calls within this time share one check of the file. */
const FRESH_MS = 20;

/**
 * Creates a reader of `/etc/fleetctl/gate/<mcp>.json`. With a clock, calls in quick succession
 * share one check of the file, because a check costs as much as the rest of the gate.
 */
export function createGateReader(
  files: Pick<Files, "readText" | "stat">,
  path: string,
  mcp: string,
  clock?: Pick<Clock, "monotonic">,
): GateReader {
  let checkedAt = -Infinity;
  let version: string | undefined;
  let gate: Result<Gate> | undefined;
  const unreadable = (state: string) => {
    // The previous rules must not replace a missing file.
    checkedAt = -Infinity;
    return err(refusal(
      "gate-unreadable",
      `Cannot use MCP ${
        JSON.stringify(mcp)
      }: its permission gate ${state}, so every call is refused`,
      { hints: ["fleetctl apply"] },
    ));
  };
  return {
    async current() {
      const now = clock?.monotonic() ?? Infinity;
      if (gate !== undefined && now - checkedAt < FRESH_MS) return gate;
      checkedAt = now;
      try {
        const stat = await files.stat(path);
        if (stat === undefined) return unreadable("is missing");
        const found = `${stat.mtimeMs} ${stat.size}`;
        if (gate !== undefined && found === version) return gate;
        const text = await files.readText(path);
        if (text === undefined) return unreadable("is missing");
        gate = parseGate(text, mcp);
        version = found;
        return gate;
      } catch (thrown) {
        if (!(thrown instanceof FileFault)) throw thrown;
        version = undefined;
        return unreadable(`cannot be read (${thrown.code})`);
      }
    },
  };
}

/**
 * Reads every usable gate and skips the others: an MCP with an unusable gate refuses all its calls.
 */
export async function readGates(
  files: Pick<Files, "readText" | "stat" | "list">,
  paths: Paths,
): Promise<readonly Gate[]> {
  const folder = paths.gates;
  if (await files.stat(folder) === undefined) return [];
  const gates: Gate[] = [];
  for (const file of [...await files.list(folder)].sort()) {
    const mcp = file.replace(/\.json$/, "");
    const gate = await createGateReader(files, paths.gate(mcp), mcp).current();
    if (gate.ok) gates.push(gate.value);
  }
  return gates;
}
