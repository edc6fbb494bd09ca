/**
 * `fleetctl agents key list [agent]`: the dial keys in the ledger. Keys that the gateway has just
 * accepted, but not yet enrolled here, are missing. Changes nothing.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import { readLedgerWithFallback } from "core/ledger/fallback.ts";
import { findAgent } from "core/ledger/ledger.ts";
import { parseMarkers } from "core/ledger/markers.ts";
import { type AgentName, parseAgentName } from "core/names.ts";
import { ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** The agent; all agents when absent. */
export interface Options {
  readonly agent: AgentName | undefined;
}

/** Parses the name. */
export function parseOptions({ args }: Invocation): Result<Options> {
  if (args.agent === undefined) return ok({ agent: undefined });
  const agent = parseAgentName(args.agent);
  return agent.ok ? ok({ agent: agent.value }) : agent;
}

/** Reads the ledger and the host's marker. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { files } = context.ports;
  const { hostFile } = context.paths;
  const ledger = await readLedgerWithFallback(context.ports, context.paths);
  if (!ledger.ok) return ledger;
  const markers = parseMarkers(await files.readText(hostFile), hostFile);
  if (!markers.ok) return markers;
  const one = options.agent === undefined ? undefined : findAgent(ledger.value, options.agent);
  if (one?.ok === false) return one;
  const agents = one === undefined ? [...ledger.value.agents.values()] : [one.value];
  const { isDialKeyRequired } = markers.value;
  return ok({
    json: {
      dial_require_key: isDialKeyRequired,
      agents: agents.map((agent) => ({
        agent: agent.name,
        state: stateOf(agent),
        keys: agent.dialKeys ?? [],
      })),
    },
    blocks: [{
      kind: "table",
      columns: ["agent", "state", "key"],
      rows: agents.flatMap((agent) => rowsOf(agent, isDialKeyRequired)),
      empty: "There are no agents yet: fleetctl agents add <name> --channel webview",
    }],
    faults: one === undefined ? ledger.value.faults : [],
  });
}

/** `open`: the first proven key is enrolled. `revoked`: a proven key is not enrolled. */
function stateOf({ dialKeys }: AgentRecord): "open" | "enrolled" | "revoked" {
  if (dialKeys === undefined) return "open";
  return dialKeys.length === 0 ? "revoked" : "enrolled";
}

function rowsOf(agent: AgentRecord, isRequired: boolean): readonly (readonly Cell[])[] {
  const { name, dialKeys } = agent;
  if (dialKeys === undefined) {
    const text = isRequired ? "the first that it proves" : "none needed until it proves one";
    return [[name, "open", { text, tone: "dim" }]];
  }
  if (dialKeys.length === 0) {
    const text = `fleetctl agents key enroll ${name} <key>`;
    return [[name, { text: "revoked", tone: "warn" }, { text, tone: "dim" }]];
  }
  return dialKeys.map((key) => [name, { text: "enrolled", tone: "good" }, key]);
}
