/**
 * `fleetctl agents restart <agent|self>`: restarts the dial unit of an agent. This also restarts
 * the runtime, which reads its client config only at start.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { linesReport, type VerbReport } from "cli/output.ts";
import { agentHere } from "cli/agent_here.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import { dialUnit } from "units/render/unit_name.ts";

/** No options: the agent is the context's target. */
export type Options = Readonly<Record<never, never>>;

/** Returns no options: the context already has the target. */
export function parseOptions(_invocation: Invocation): Result<Options> {
  return ok({});
}

/** Restarts the unit. Refuses an agent that was stopped, and a root without a service manager. */
export async function run(context: VerbContext, _options: Options): Promise<Result<VerbReport>> {
  const agent = await agentHere(context);
  if (!agent.ok) return agent;
  const { name, stopped } = agent.value;
  if (stopped !== undefined) return err(isStopped(name, stopped));
  const services = context.ports.services(context.paths);
  if (!await services.isRunning()) {
    return err(refusal(
      "manager-not-running",
      `Cannot restart agent "${name}": no service manager runs on this root, must be running`,
      { hints: context.paths.root === "/" ? ["systemctl status"] : ["fleetctl up"] },
    ));
  }
  await services.restart(dialUnit(name));
  return ok(linesReport({ agent: name, unit: dialUnit(name), restarted: true }, [
    `restarted  ${dialUnit(name)}`,
  ]));
}

function isStopped(agent: string, since: string) {
  return refusal(
    "agent-stopped",
    `Cannot restart agent "${agent}": it was stopped on purpose at ${since}, must be started`,
    { hints: [`fleetctl agents start ${agent}`] },
  );
}
