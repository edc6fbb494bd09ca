/**
 * Offers a model that `up` finds. With a terminal it asks; without one it prints a line for each
 * source with the option that uses it. It uses a source only after consent, by an answer or by
 * `--model-from`. Without `--model-from`, an agent that already has a model is left unchanged.
 *
 * @module
 */

import { run as setModel } from "cli/verbs/agents/model/set.ts";
import type { VerbContext } from "cli/context.ts";
import { refusalLines } from "cli/exit.ts";
import { localCommandsFor, withLocalHints } from "core/hints/local_hints.ts";
import { findModel, findModels, firstModel, type FoundModel } from "cli/up/find_models.ts";
import { partLine } from "cli/up/lines.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { findAgent, readLedger } from "core/ledger/ledger.ts";
import type { AgentName, KeyName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { modelText, storedModel } from "core/runtimes/model_choice.ts";
import { openSecrets } from "core/secrets/store.ts";

/** The options about models. */
export interface OfferOptions {
  /** Provider whose key is in the environment, an address, or `none`. */
  readonly modelFrom: string | undefined;
  readonly model: string | undefined;
  readonly agent: AgentName;
}

/** Maximum number of sources that are printed, one line each. */
const NAMED_MAX = 3;

/**
 * Uses the requested source, or offers the ones found. Refuses only if a requested source fails.
 */
export async function offerModel(
  context: VerbContext,
  options: OfferOptions,
  say: (line: string) => void,
): Promise<Result<void>> {
  const { ports, env } = context;
  const { modelFrom } = options;
  if (modelFrom === "none") return ok(undefined);
  if (modelFrom !== undefined) {
    const found = await findModel(ports, env, modelFrom);
    return found === undefined
      ? err(notThere(modelFrom))
      : await connect(context, options, { found, say });
  }
  if (await hasModel(context, options.agent)) return ok(undefined);
  const all = await findModels(ports, env);
  const [first] = all;
  if (first === undefined) return ok(undefined);
  const answer = await context.promptLine(
    `Found ${first.description}. Shall ${options.agent} talk to ${nameOf(first)}? [y/N] `,
  );
  if (answer === undefined || !/^y(?:es)?$/i.test(answer)) {
    for (const line of offerLines(context, answer === undefined ? all : all.slice(0, 1))) say(line);
    return ok(undefined);
  }
  const done = await connect(context, options, { found: first, say });
  // A failed offer changes nothing: the demo model still answers.
  if (!done.ok) { for (const line of faultLines(context, done.error)) say(line); }
  return ok(undefined);
}

/** Returns the sources found, and how to use them. Uses none of them. */
export function offerLines(
  context: Pick<VerbContext, "env" | "paths">,
  found: readonly FoundModel[],
): readonly string[] {
  const { up, upRoot } = localCommandsFor(context.env.FLEETCTL_FROM_TREE, context.paths.root);
  return found.slice(0, NAMED_MAX).map(({ description, source }) =>
    `found ${description}, not used; to use it: ${up}${upRoot} --model-from ${source}`
  );
}

function nameOf({ provider, models }: FoundModel): string {
  return models === undefined ? provider : `${models[0]} there`;
}

/** Whether the agent has a model, or was set to keep the demo model. */
async function hasModel(context: VerbContext, name: AgentName): Promise<boolean> {
  const { ports, paths } = context;
  const ledger = await readLedger(ports.files, paths);
  const agent = ledger.ok ? findAgent(ledger.value, name) : ledger;
  const secrets = await openSecrets(ports, paths);
  // If either is unreadable there is nothing to offer; other code reports the fault.
  if (!agent.ok || !secrets.ok) return true;
  const isChosen = secrets.value.get({ key: "FLEETCTL_PROVIDER" as KeyName, agent: name });
  return isChosen !== undefined ||
    storedModel(secrets.value.shards, agent.value).provider !== "demo";
}

async function connect(
  context: VerbContext,
  { model, agent }: OfferOptions,
  { found, say }: { readonly found: FoundModel; readonly say: (line: string) => void },
): Promise<Result<void>> {
  const id = model ?? await firstModel(context.ports, found);
  if (id === undefined) return err(noModelNamed(found));
  const { provider, baseUrl, key } = found;
  const report = await setModel(
    { ...context, target: { kind: "agent", agent }, secretValue: key },
    { choice: { provider, model: id, baseUrl }, isChecked: true },
  );
  if (!report.ok) return report;
  const text = modelText({ provider, model: id, base_url: baseUrl ?? null });
  say(partLine("model", `${agent} uses ${text}`));
  return ok(undefined);
}

function faultLines(context: VerbContext, fault: Refusal): readonly string[] {
  return refusalLines(withLocalHints(fault, context.env), "warning");
}

function notThere(source: string): Refusal {
  const name = { anthropic: "ANTHROPIC_API_KEY", openai: "OPENAI_API_KEY" }[source];
  return refusal(
    "model-source-missing",
    name === undefined
      ? `Cannot use the model from "${source}": nothing there lists models, must be an endpoint`
      : `Cannot use the model from "${source}": ${name} is not in the environment`,
    { kind: "usage", hints: ["fleetctl agents model set ada --help"] },
  );
}

function noModelNamed({ description }: FoundModel): Refusal {
  return refusal(
    "model-not-named",
    `Cannot use ${description}: its list of models cannot be read, one must be named with ` +
      "--model",
    { hints: ["fleetctl agents model set ada --help"] },
  );
}
