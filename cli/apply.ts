/**
 * `fleetctl apply [self]`: brings this host to what its ledger says, and restarts local agents whose
 * own input changed (decision 25). `self` reaches the calling agent only (decision 24).
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { ensureState } from "cli/facts.ts";
import { enrollFirstKeys } from "cli/first_keys.ts";
import type { VerbReport } from "cli/output.ts";
import {
  authorOf,
  planReport,
  readFacts,
  reconcileFacts,
  siteOf,
  underVerbLock,
} from "cli/planner.ts";
import { keepReserve } from "cli/reserve.ts";
import { spoolWaits } from "cli/teams_gateway/join.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import { describeState, repairPaths, wrongPaths } from "units/reconcile/own_state.ts";
import { scopeOf } from "units/reconcile/scope.ts";

/** What `fleetctl apply` was asked for; how far it goes is the context's target. */
export interface Options {
  readonly isDryRun: boolean;
}

/** Said once, when the store is made: afterwards only `secret list` does. */
const OFFER = [
  "the secret store is new, and only this host can open it; for the day its key is lost:",
  "  fleetctl secret recovery add > recovery.key",
];

/** Parses the switches. */
export function parseOptions(invocation: Invocation): Result<Options> {
  return ok({ isDryRun: invocation.switches.has("dry-run") });
}

/** Runs the planner. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { isDryRun } = options;
  const { ports, paths, target } = context;
  return await underVerbLock(context, async () => {
    // Before anything else: what is read, rendered or started stands on these files.
    const owned = target.kind === "agent"
      ? []
      : isDryRun
      ? await describeState(ports, await wrongPaths(ports, paths))
      : await repairPaths(ports, paths);
    const isNewStore = await ports.files.stat(paths.secretsFile) === undefined;
    if (!isDryRun) {
      const state = await ensureState(ports, siteOf(context), authorOf(context, "apply"));
      if (!state.ok) return state;
    }
    const gathered = await readFacts(context);
    if (!gathered.ok) return gathered;
    const roles = gathered.value.roles;
    const waits = isDryRun || target.kind === "agent"
      ? undefined
      : await spoolWaits(context, roles.teamchat);
    if (waits !== undefined) return err(waits);
    const own = target.kind === "agent" ? target.agent : undefined;
    const report = await reconcileFacts(context, gathered.value, {
      dryRun: isDryRun,
      restartAgents: true,
      ...(own === undefined ? {} : { scope: scopeOf(gathered.value.facts, own) }),
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
      ...(own === undefined ? {} : { aboutOneFor: context.caller }),
      last: [
        ...enrolled.map((name) => `enrolled   the first dial key of agent "${name}"`),
        ...(isNewStore ? OFFER : []),
      ],
    }));
  });
}
