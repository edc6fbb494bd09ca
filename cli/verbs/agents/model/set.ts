/**
 * `fleetctl agents model set <agent|self>`: tries a model, stores it with its key in the agent's
 * shard, reconciles the host, and restarts the agent, which reads the model only at start. The key
 * arrives through the context, never through options, and is never printed. A model that the
 * endpoint does not accept changes nothing.
 *
 * The gateway runs it for the owner of an agent (docs/adr/0011-a-model-from-the-page.md).
 *
 * @module
 */

import { agentHere } from "cli/agent_here.ts";
import { modelLines } from "cli/agents/model/report.ts";
import type { VerbContext } from "cli/context.ts";
import { ensureState } from "cli/facts.ts";
import { linesReport, type VerbReport } from "cli/output.ts";
import { refusalOfFault } from "cli/exit.ts";
import {
  authorOf,
  hostInputs,
  installFirst,
  readFacts,
  reconcileFacts,
  underAgentLock,
} from "cli/planner.ts";
import { defined } from "core/defined.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import type { AgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { checkModel } from "cli/agents/model_check.ts";
import {
  type DecidedModel,
  decideModel,
  MODEL_EFFORTS,
  MODEL_PROVIDERS,
  modelCard,
  type ModelChoice,
  storedModel,
} from "core/runtimes/model_choice.ts";
import { type SecretShards, withSecret } from "core/secrets/shards.ts";
import { openSecrets } from "core/secrets/store.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import { scopeOf } from "units/reconcile/scope.ts";
import { dialUnit } from "units/render/unit_name.ts";

const VERB = "agents model set";

/** Options of `fleetctl agents model set`; the key is in the context. */
export interface Options {
  readonly choice: Omit<ModelChoice, "key">;
  readonly isChecked: boolean;
}

/**
 * Parses provider, model and address. Whether they fit is decided later, with the stored values.
 */
export function parseOptions(invocation: Invocation): Result<Options> {
  const { options, switches } = invocation;
  const provider = MODEL_PROVIDERS.find((one) => one === options.provider);
  if (provider === undefined) {
    return err(refusal(
      "options-invalid",
      'Cannot connect a model: "--provider" is not given, must be one of ' +
        MODEL_PROVIDERS.join(", "),
      { kind: "usage", hints: ["fleetctl agents model set --help"] },
    ));
  }
  return ok({
    choice: {
      provider,
      model: options.model,
      baseUrl: options["base-url"],
      effort: MODEL_EFFORTS.find((one) => one === options.effort),
      fallback: options.fallback?.trim(),
    },
    isChecked: !switches.has("no-check"),
  });
}

/** Tries, stores, renders and restarts, in this order: a model that fails changes nothing. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  const agent = await agentHere(context);
  if (!agent.ok) return agent;
  const choice = { ...options.choice, key: context.secretValue };
  // Done before the lock, so that a slow endpoint delays no other verb.
  const secrets = await openSecrets(ports, paths);
  if (!secrets.ok) return secrets;
  const tried = chosenModel(choice, agent.value, secrets.value.shards);
  if (!tried.ok) return tried;
  const checked = options.isChecked ? await checkModels(ports, tried.value) : ok(undefined);
  if (!checked.ok) return checked;
  const { name } = agent.value;
  const trees = await installFirst(context, name);
  if (!trees.ok) return trees;
  const { value: vendor } = trees;
  return await underAgentLock(context, async (awaitLater) => {
    const stored = await store(context, agent.value, choice);
    if (!stored.ok) return stored;
    const gathered = await readFacts(context);
    if (!gathered.ok) return gathered;
    const followed = await reconcileFacts(context, gathered.value, {
      dryRun: false,
      restartAgents: false,
      awaitLater,
      ...defined({ vendor }),
      scope: scopeOf(gathered.value.facts, name),
    });
    if (!followed.ok) return followed;
    const report = followed.value;
    // Restarts even if nothing changed: an earlier run may have stopped before its restart.
    const services = ports.services(paths);
    const isRestarted = await services.isRunning();
    if (isRestarted) awaitLater(faultOf(services.restart(dialUnit(name))));
    const card = modelCard(stored.value.model);
    return ok({
      ...linesReport(
        { agent: name, ...card, changed: stored.value.isChanged, restarted: isRestarted },
        [
          ...modelLines(name, card),
          isRestarted
            ? `restarted  ${dialUnit(name)}`
            : "no service manager runs on this root: the agent reads it when it starts",
        ],
      ),
      faults: report.faults,
    });
  });
}

/** Checks the model, and the fallback if there is one. */
async function checkModels(
  ports: VerbContext["ports"],
  model: DecidedModel,
): Promise<Result<void>> {
  const checked = await checkModel(ports, model);
  const { fallback } = model;
  if (!checked.ok || fallback === undefined) return checked;
  return await checkModel(ports, { ...model, model: fallback });
}

/** Returns the fault of the work as a value. */
async function faultOf(work: Promise<void>): Promise<Refusal | undefined> {
  try {
    await work;
    return undefined;
  } catch (thrown) {
    return refusalOfFault(thrown, `run "${VERB}"`);
  }
}

function chosenModel(
  choice: ModelChoice,
  agent: AgentRecord,
  shards: SecretShards,
): Result<DecidedModel> {
  return decideModel(choice, { shards, agent: agent.name, stored: storedModel(shards, agent) });
}

/** Writes all values as one commit, or none. */
async function store(context: VerbContext, agent: AgentRecord, choice: ModelChoice) {
  const { ports } = context;
  const author = authorOf(context, VERB);
  const state = await ensureState(ports, hostInputs(context), author);
  if (!state.ok) return state;
  let model: DecidedModel | undefined;
  const done = await state.value.edit((shards) => {
    // Decided again: the stored values may have changed since the endpoint was checked.
    const decided = chosenModel(choice, agent, shards);
    if (!decided.ok) return decided;
    model = decided.value;
    return withModel(shards, agent.name, decided.value);
  }, { author, summary: `the model of agent "${agent.name}"` });
  if (!done.ok) return done;
  if (model === undefined) throw new Error("the store was changed without a decision");
  return ok({ model, isChanged: done.value.changed.length > 0 });
}

/** Returns the same shards when they already contain these values. */
function withModel(
  shards: SecretShards,
  agent: AgentName,
  model: DecidedModel,
): Result<SecretShards> {
  let next = shards;
  for (const [key, value] of model.secrets) {
    if (next.agents.get(agent)?.get(key) === value) continue;
    const changed = withSecret(next, { key, agent }, value);
    if (!changed.ok) return changed;
    next = changed.value;
  }
  return ok(next);
}
