/**
 * `fleetctl agents model show <agent|self>`: the model in the agent's settings. Reads only. Never
 * prints a key.
 *
 * @module
 */

import { agentHere } from "cli/agent_here.ts";
import { modelLines } from "cli/agents/model/report.ts";
import type { VerbContext } from "cli/context.ts";
import { linesReport, type VerbReport } from "cli/output.ts";
import { ok, type Result } from "core/result.ts";
import { modelCard, storedModel } from "core/runtimes/model_choice.ts";
import { openSecrets } from "core/secrets/store.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** No options: the agent is the context's target. */
export type Options = Readonly<Record<never, never>>;

/** Returns no options: the context already has the target. */
export function parseOptions(_invocation: Invocation): Result<Options> {
  return ok({});
}

/** Reads record and secrets. */
export async function run(context: VerbContext, _options: Options): Promise<Result<VerbReport>> {
  const agent = await agentHere(context);
  if (!agent.ok) return agent;
  const secrets = await openSecrets(context.ports, context.paths);
  if (!secrets.ok) return secrets;
  const { name } = agent.value;
  const card = modelCard(storedModel(secrets.value.shards, agent.value));
  return ok(linesReport({ agent: name, ...card }, modelLines(name, card)));
}
