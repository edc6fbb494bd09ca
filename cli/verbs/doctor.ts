/**
 * `fleetctl doctor`: the problems of this host, and the settings that could be stricter. Changes
 * nothing. The problems are those of `status`, so the two never differ.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { type SoftSetting, softSettings } from "cli/doctor/soft_settings.ts";
import type { Gathered } from "cli/facts.ts";
import type { Block, VerbReport } from "cli/output.ts";
import { readFacts } from "cli/planner.ts";
import { observeHost } from "cli/verbs/status.ts";
import { exitOf, problemJson } from "cli/status/level.ts";
import type { KeyName } from "core/names.ts";
import { ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** `fleetctl doctor` has no options. */
export type Options = Readonly<Record<never, never>>;

/** Returns no options: there are none. */
export function parseOptions(_invocation: Invocation): Result<Options> {
  return ok({});
}

/** Checks everything. */
export async function run(context: VerbContext, _options: Options): Promise<Result<VerbReport>> {
  const gathered = await readFacts(context);
  if (!gathered.ok) return gathered;
  const { problems } = await observeHost(context, gathered.value);
  const soft = softSettings(await softInputs(context, gathered.value));
  return ok({
    json: {
      ok: problems.length === 0,
      problems: problems.map(problemJson),
      soft_settings: soft,
    },
    blocks: [softBlock(soft), commandsBlock(soft)],
    faults: problems,
    exit: exitOf(problems),
  });
}

async function softInputs({ ports, paths }: VerbContext, gathered: Gathered) {
  const { roles, markers, ledger, facts, secrets } = gathered;
  const shared = (key: string) => secrets.get({ key: key as KeyName });
  const hosts = (await ports.files.list(paths.hostsDir)).filter((name) => name.endsWith(".yaml"));
  const wired = new Set([...facts.wired.values()].flat());
  return {
    roles,
    markers,
    agents: [...ledger.agents.values()],
    wired: [...wired].sort().flatMap((name) => facts.catalog.get(name) ?? []),
    hostname: ports.hostname,
    hosts: Math.max(1, hosts.length),
    basicUsers: shared("WEBVIEW_BASIC_USERS"),
    teamsRegisterToken: shared("TEAMS_REGISTER_TOKEN"),
  };
}

function softBlock(soft: readonly SoftSetting[]): Block {
  return {
    kind: "table",
    title: "soft settings",
    columns: ["setting", "value", "means"],
    rows: soft.map(({ setting, value, means }) => [setting, value, means]),
    empty: "no setting of this host could be stricter",
  };
}

function commandsBlock(soft: readonly SoftSetting[]): Block {
  const lines = soft.flatMap((
    { setting, run },
  ) => [`${setting}:`, ...run.map((each) => `  ${each}`)]);
  return { kind: "lines", lines: lines.length === 0 ? [] : ["to inspect or harden:", ...lines] };
}
