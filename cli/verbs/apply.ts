/**
 * `fleetctl apply [self]`: reconciles this host with its ledger, and restarts local agents whose
 * own input changed. `self` covers the calling agent only. An agent with a turn waits for the end
 * of that turn, at most 30 minutes, if only the version of its programs changed.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { ensureState } from "cli/facts.ts";
import { enrollFirstKeys } from "cli/first_keys.ts";
import type { VerbReport } from "cli/output.ts";
import {
  authorOf,
  hostInputs,
  installFirst,
  planReport,
  readFacts,
  reconcileFacts,
  underAgentLock,
  underVerbLock,
} from "cli/planner.ts";
import { keepReserve } from "cli/reserve.ts";
import { checkSpoolEmpty } from "cli/teams_gateway/join.ts";
import { replaceUntilNoneWaits } from "cli/replace_waiting.ts";
import { defined } from "core/defined.ts";
import { refusal } from "core/errors.ts";
import type { AgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import type { OnLate } from "units/reconcile/execute.ts";
import { describeState, repairPaths, wrongPaths } from "units/reconcile/own_state.ts";
import type { Vendor } from "units/reconcile/ports.ts";
import { scopeOf } from "units/reconcile/scope.ts";

/** Options of `fleetctl apply`. The context's target is its scope. */
export interface Options {
  readonly isDryRun: boolean;
  /** New versions do not wait for the end of turns. */
  readonly isNow: boolean;
  /** Only agents that wait for the end of their turn. */
  readonly isWaiting: boolean;
}

/** Printed once, when the store is created. After that only `secret list` prints it. */
const RECOVERY_KEY_HINT = [
  "the secret store is new, and only this host's key opens it; create a recovery key:",
  "  fleetctl secret recovery add > recovery.key",
];

/** Parses the switches. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const { switches } = invocation;
  const isWaiting = switches.has("waiting");
  const other = ["now", "dry-run"].find((name) => switches.has(name));
  if (isWaiting && other !== undefined) return err(notWith(`--${other}`));
  return ok({ isDryRun: switches.has("dry-run"), isNow: switches.has("now"), isWaiting });
}

/** Reconciles the whole host, or the target agent. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { target } = context;
  if (options.isWaiting) {
    return target.kind === "agent" ? err(notWith(`"self"`)) : await replaceUntilNoneWaits(context);
  }
  if (target.kind !== "agent") return await underVerbLock(context, () => apply(context, options));
  const { agent } = target;
  const trees = options.isDryRun ? ok(undefined) : await installFirst(context, agent);
  if (!trees.ok) return trees;
  const { value: vendor } = trees;
  return await underAgentLock(
    context,
    (awaitLater) => apply(context, options, { agent, awaitLater, ...defined({ vendor }) }),
  );
}

function notWith(other: string) {
  return refusal(
    "options-invalid",
    `Cannot apply: --waiting is about agents that wait, cannot be combined with ${other}`,
    { kind: "usage", hints: ["fleetctl apply --waiting"] },
  );
}

/** A run for a single agent. */
interface OwnRun {
  readonly agent: AgentName;
  readonly awaitLater: OnLate;
  readonly vendor?: Vendor;
}

async function apply(
  context: VerbContext,
  { isDryRun, isNow }: Options,
  own?: OwnRun,
): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  // Repair owners and modes first, because every later step uses these files.
  const owned = own !== undefined
    ? []
    : isDryRun
    ? await describeState(ports, await wrongPaths(ports, paths))
    : await repairPaths(ports, paths);
  const isNewStore = await ports.files.stat(paths.secretsFile) === undefined;
  if (!isDryRun) {
    const state = await ensureState(ports, hostInputs(context), authorOf(context, "apply"));
    if (!state.ok) return state;
  }
  const gathered = await readFacts(context);
  if (!gathered.ok) return gathered;
  const roles = gathered.value.roles;
  const waits = isDryRun || own !== undefined
    ? undefined
    : await checkSpoolEmpty(context, roles.teamchat);
  if (waits !== undefined) return err(waits);
  const { agent, ...how } = own ?? { agent: undefined };
  const report = await reconcileFacts(context, gathered.value, {
    dryRun: isDryRun,
    restartAgents: true,
    replaceNow: isNow,
    ...how,
    ...(agent === undefined ? {} : { scope: scopeOf(gathered.value.facts, agent) }),
  });
  if (!report.ok) return report;
  const first = { gathered: gathered.value, report: report.value };
  const done = own === undefined && !isDryRun
    ? await enrollFirstKeys(context, "apply", first)
    : ok({ ...first, enrolled: [] });
  if (!done.ok) return done;
  const { enrolled } = done.value;
  const unreserved = own === undefined && !isDryRun ? await keepReserve(ports, paths) : undefined;
  const found = [...owned, ...done.value.report.found];
  return ok(planReport({ ...done.value.report, found }, done.value.gathered, {
    json: { enrolled },
    warnings: unreserved === undefined ? [] : [unreserved],
    ...(own === undefined ? {} : { singleAgentCaller: context.caller }),
    last: [
      ...enrolled.map((name) => `enrolled   the first dial key of agent "${name}"`),
      ...(isNewStore ? RECOVERY_KEY_HINT : []),
    ],
  }));
}
