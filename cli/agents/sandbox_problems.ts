/**
 * Problems with the sandbox of an agent's commands: the record requires one that is not in force.
 * Pure, except that `sandboxWarnings` looks for bubblewrap on this host.
 *
 * @module
 */

import type { HostState } from "core/dial/host_state.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import type { Files } from "core/ports/files.ts";
import { isBuiltIn } from "core/runtimes/definition.ts";
import { BUBBLEWRAP } from "core/sandbox/host_files.ts";
import { noSandbox } from "core/sandbox/sandbox_refusal.ts";
import type { Facts } from "units/reconcile/facts.ts";

type Confined = Pick<AgentRecord, "name" | "runtime" | "sandbox">;

/** Returns why the sandbox that an agent's record requires is not in force. */
export function sandboxProblems(
  agent: Confined,
  state: HostState,
  facts: Pick<Facts, "runtimes">,
): readonly Refusal[] {
  if (agent.sandbox !== "on") return [];
  const unused = notUsed(agent, facts);
  if (unused !== undefined) return [unused];
  const isRunning = ["idle", "working", "waiting-approval"].includes(state.state);
  if (state.sandbox === undefined) return isRunning ? [notInForce(agent)] : [];
  const { fault } = state.sandbox;
  return fault === undefined ? [] : [noSandbox(agent.name, fault)];
}

/** Returns the warnings of a verb that sets the field. */
export async function sandboxWarnings(
  files: Pick<Files, "stat">,
  facts: Pick<Facts, "runtimes">,
  agent: Confined,
): Promise<readonly Refusal[]> {
  if (agent.sandbox !== "on") return [];
  const unused = notUsed(agent, facts);
  if (unused !== undefined) return [unused];
  const isInstalled = await files.stat(BUBBLEWRAP) !== undefined;
  const why = `Cannot start ${JSON.stringify(BUBBLEWRAP)}: no such program`;
  return isInstalled ? [] : [noSandbox(agent.name, why)];
}

/** Other programs run commands themselves, so fleetctl cannot confine these. */
function notUsed({ name, runtime }: Confined, { runtimes }: Pick<Facts, "runtimes">) {
  const definition = runtimes.get(runtime);
  if (definition === undefined || isBuiltIn(definition)) return undefined;
  return refusal(
    "sandbox-not-used",
    `Commands of agent "${name}" run without a sandbox: its runtime "${runtime}" starts them ` +
      "itself, only the built-in runtime confines them",
    {
      hints: [
        `fleetctl agents set ${name} --runtime runtime-b`,
        `fleetctl agents set ${name} --sandbox off`,
      ],
    },
  );
}

function notInForce({ name }: Confined): Refusal {
  return refusal(
    "sandbox-not-in-force",
    `Commands of agent "${name}" run without a sandbox until it restarts`,
    { hints: [`fleetctl agents restart ${name}`] },
  );
}
