/**
 * Shows and sets an agent's model for its owner, through the root daemon. The key passes through
 * to the daemon's socket. The gateway never stores it, and no answer contains it
 * (docs/adr/0011-a-model-from-the-page.md). The route's gate checks whose agent it is.
 *
 * @module
 */

import * as z from "zod";
import { type Refusal, refusal } from "core/errors.ts";
import { MODEL_LIMITS } from "gateway/limits.ts";
import { err, ok, type Result } from "core/result.ts";
import { MODEL_PROVIDERS, type ModelChoice } from "core/runtimes/model_choice.ts";
import type { VerbCall, VerbRunner } from "gateway/daemon_verbs.ts";

/** Public properties of a model; never its key. */
export const modelCardShape = z.object({
  agent: z.string(),
  provider: z.enum(MODEL_PROVIDERS),
  model: z.string().nullable(),
  base_url: z.string().nullable(),
  key: z.enum(["set", "not-set"]),
  key_ends_with: z.string().nullable(),
});
/** Model of one agent. */
export type AgentModel = z.infer<typeof modelCardShape>;

/** Reads and sets models. */
export interface ModelEndpoint {
  show(agent: string): Promise<Result<AgentModel>>;
  /** Tests the endpoint if `isChecked`, stores the model, and restarts the agent. */
  set(agent: string, choice: ModelChoice, isChecked: boolean): Promise<Result<AgentModel>>;
}

/** Creates the endpoint for models. Without a runner every request is refused. */
export function createModelEndpoint(verbs: VerbRunner | undefined): ModelEndpoint {
  let open = 0;
  const changing = new Set<string>();
  const ask = async (call: VerbCall): Promise<Result<AgentModel>> => {
    if (verbs === undefined) return err(away(call));
    // Each request starts a program as root: a page must not start them without limit.
    if (open >= MODEL_LIMITS.openMax) return err(busy(call));
    open++;
    try {
      const answer = await verbs.run(call);
      if (!answer.ok) return answer;
      const card = modelCardShape.safeParse(answer.value);
      return card.success ? ok(card.data) : err(unreadable(call));
    } finally {
      open--;
    }
  };
  return {
    show: (agent) =>
      ask({
        what: `show the model of agent "${agent}"`,
        argv: ["agents", "model", "show", "--json", "--", agent],
      }),
    set: async (agent, choice, isChecked) => {
      const call = setCall(agent, choice, isChecked);
      if (changing.has(agent)) return err(busy(call));
      changing.add(agent);
      try {
        return await ask(call);
      } finally {
        changing.delete(agent);
      }
    },
  };
}

function setCall(agent: string, choice: ModelChoice, isChecked: boolean): VerbCall {
  const { provider, model, baseUrl, key } = choice;
  const hasKey = key !== undefined && key.trim() !== "";
  return {
    what: `connect a model to agent "${agent}"`,
    argv: [
      "agents",
      "model",
      "set",
      "--json",
      "--provider",
      provider,
      ...(model === undefined ? [] : [`--model=${model}`]),
      ...(baseUrl === undefined ? [] : [`--base-url=${baseUrl}`]),
      ...(isChecked ? [] : ["--no-check"]),
      ...(hasKey ? ["--key", "-"] : ["--no-key"]),
      "--",
      agent,
    ],
    ...(hasKey ? { stdin: key } : {}),
  };
}

function away({ what }: VerbCall): Refusal {
  return refusal("daemon-not-running", `Cannot ${what}: this gateway runs without a daemon`);
}

function busy({ what }: VerbCall): Refusal {
  return refusal(
    "model-change-running",
    `Cannot ${what}: another change is running and must end first`,
  );
}

function unreadable({ what }: VerbCall): Refusal {
  return refusal("verb-failed", `Cannot ${what}: the command's answer cannot be parsed`);
}
