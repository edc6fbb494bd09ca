/**
 * Stops and starts an agent. The state is recorded in the ledger, so it survives `apply` and a
 * reboot; then the host is reconciled. Shared by `agents stop` and `agents start`.
 *
 * @module
 */

import { agentHere } from "cli/agent_here.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { authorOf, followLedger, planReport, underVerbLock } from "cli/planner.ts";
import { refusal } from "core/errors.ts";
import { changeAgent } from "core/ledger/agents.ts";
import type { AgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { dialUnit } from "units/render/unit_name.ts";

/** Records whether the target is stopped, and reconciles the host. */
export async function setStopped(
  context: VerbContext,
  isStopped: boolean,
): Promise<Result<VerbReport>> {
  return await underVerbLock(context, async () => {
    const agent = await agentHere(context);
    if (!agent.ok) return agent;
    const { name } = agent.value;
    const word = isStopped ? "stop" : "start";
    const recorded = await changeAgent(context.ports, context.paths, {
      ...authorOf(context, `agents ${word}`),
      agent: name,
      summary: `${word} of agent "${name}"`,
      decide: (record) => {
        const { stopped } = record;
        // Stopping a stopped agent keeps the time of the first stop.
        return ok({ stopped: isStopped ? stopped ?? nowText(context) : undefined });
      },
    });
    if (!recorded.ok) return recorded;
    const followed = await followLedger(context);
    if (!followed.ok) return followed;
    const { gathered, report } = followed.value;
    const started = isStopped ? ok(undefined) : await start(context, name);
    if (!started.ok) return started;
    const isSame = recorded.value.changed.length === 0;
    const after = isStopped ? "is stopped" : "is started";
    return ok(planReport(report, gathered, {
      json: { agent: name, stopped: isStopped, changed: !isSame },
      last: [
        isSame ? `agent "${name}" was ${after.slice(3)} before` : `agent "${name}" ${after}`,
      ],
    }));
  });
}

function nowText({ ports }: VerbContext): string {
  return new Date(ports.clock.now()).toISOString();
}

/** Starts the dial unit. A reconcile never starts one itself, so that `mcp add` wakes no agent. */
async function start(context: VerbContext, agent: AgentName): Promise<Result<void>> {
  const services = context.ports.services(context.paths);
  if (!await services.isRunning()) return ok(undefined);
  const unit = dialUnit(agent);
  const [status] = await services.status([unit]);
  if (status === undefined || status.load === "not-found") return err(noUnit(agent));
  if (status.active !== "active" && status.active !== "activating") await services.start(unit);
  return ok(undefined);
}

function noUnit(agent: AgentName) {
  return refusal(
    "agent-without-unit",
    `Cannot start agent "${agent}": it has no unit, this host must have the role "dial"`,
    { hints: ["fleetctl apply", "fleetctl status"] },
  );
}
