/**
 * `fleetctl mcp doctor <mcp> <agent>`: checks an MCP as that agent would use it, from the catalog
 * to the tools. It stops at the first failed check and prints what to run. It starts the server
 * once, as a call would, and changes nothing.
 *
 * @module
 */

import { agentHere } from "cli/agent_here.ts";
import type { VerbContext } from "cli/context.ts";
import { refusalOfFault } from "cli/exit.ts";
import { type Check, checksFor } from "cli/mcp/doctor/check.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import { readFacts } from "cli/planner.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { type McpName, parseMcpName } from "core/names.ts";
import { ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl mcp doctor`; the agent is the context's target. */
export interface Options {
  readonly mcp: McpName;
}

/** Parses the arguments. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const mcp = parseMcpName(invocation.args.mcp ?? "");
  return mcp.ok ? ok({ mcp: mcp.value }) : mcp;
}

interface Line {
  readonly step: string;
  readonly state: "ok" | "failed" | "not tried";
  readonly detail: string;
  readonly details: readonly string[];
  readonly run: readonly string[];
}

/** Runs the checks. */
export async function run(context: VerbContext, { mcp }: Options): Promise<Result<VerbReport>> {
  const gathered = await readFacts(context);
  if (!gathered.ok) return gathered;
  const agent = await agentHere(context, gathered.value.ledger);
  if (!agent.ok) return agent;
  const lines: Line[] = [];
  let failed: { readonly step: string; readonly reason: Refusal } | undefined;
  for (const each of checksFor()) {
    if (failed !== undefined) {
      lines.push({ step: each.step, state: "not tried", detail: "", details: [], run: [] });
      continue;
    }
    const target = { context, gathered: gathered.value, agent: agent.value, mcp };
    const outcome = await guarded(each, target);
    lines.push(lineOf(each.step, outcome));
    if (!outcome.ok) failed = { step: each.step, reason: outcome.error };
  }
  return ok({
    json: { mcp, agent: agent.value.name, ok: failed === undefined, steps: lines },
    blocks: [{
      kind: "table",
      columns: ["step", "state", "what"],
      rows: lines.map(({ step, state, detail }): readonly Cell[] => [
        step,
        { text: state, tone: state === "ok" ? "good" : state === "failed" ? "bad" : "dim" },
        detail,
      ]),
      empty: "",
    }],
    ...(failed === undefined ? {} : {
      faults: [refusal(
        "mcp-unhealthy",
        `Cannot use MCP "${mcp}" as agent "${agent.value.name}": step "${failed.step}" ` +
          "fails",
        { details: failed.reason.details, hints: failed.reason.hints },
      )],
    }),
  });
}

/** A check that throws counts as failed. */
async function guarded(each: Check, target: Parameters<Check["check"]>[0]) {
  try {
    return await each.check(target);
  } catch (thrown) {
    return { ok: false as const, error: refusalOfFault(thrown, `check the ${each.step}`) };
  }
}

function lineOf(step: string, outcome: Result<string>): Line {
  return outcome.ok ? { step, state: "ok", detail: outcome.value, details: [], run: [] } : {
    step,
    state: "failed",
    detail: outcome.error.message,
    details: outcome.error.details,
    run: outcome.error.hints,
  };
}
