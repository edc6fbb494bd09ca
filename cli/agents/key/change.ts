/**
 * What `agents key enroll` and `agents key revoke` share: one commit in the ledger, then the
 * planner, which renders the list that the gateway reads (docs/adr/0010-dial-keys-in-the-ledger.md).
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { authorOf, followLedger, planReport, underVerbLock } from "cli/planner.ts";
import { refusal } from "core/errors.ts";
import { changeAgent } from "core/ledger/agents.ts";
import { isDialKey } from "core/ledger/shard.ts";
import { type AgentName, parseAgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Parses the two words of these verbs. */
export function parseKeyWords(
  { args }: Invocation,
): Result<{ readonly agent: AgentName; readonly key: string | undefined }> {
  const agent = parseAgentName(args.agent ?? "");
  if (!agent.ok) return agent;
  const { key } = args;
  if (key === undefined || isDialKey(key)) return ok({ agent: agent.value, key });
  return err(refusal(
    "dial-key-invalid",
    `Cannot use the dial key of agent "${agent.value}": it has ${key.length} characters, ` +
      "must be 43 characters of base64url",
    { kind: "usage", hints: [`fleetctl agents key list ${agent.value}`] },
  ));
}

/** A change of an agent's keys. */
export interface KeyChange {
  readonly verb: string;
  readonly agent: AgentName;
  /** Rest of the commit's subject. */
  readonly summary: string;
  /** From the keys as they are, undefined when there never was one, to those that are to be. */
  readonly decide: (keys: readonly string[] | undefined) => Result<readonly string[]>;
  /** Lines about what was done; `isSame` when nothing had to be. */
  readonly tell: (keys: readonly string[], isSame: boolean) => readonly string[];
}

/** Records the change and makes this host follow it. */
export async function changeKeys(
  context: VerbContext,
  change: KeyChange,
): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  const { verb, agent, summary } = change;
  return await underVerbLock(context, async () => {
    let keys: readonly string[] = [];
    const recorded = await changeAgent(ports, paths, {
      ...authorOf(context, verb),
      agent,
      summary,
      decide: (record) => {
        const decided = change.decide(record.dialKeys);
        if (!decided.ok) return decided;
        keys = decided.value;
        return ok({ dialKeys: keys });
      },
    });
    if (!recorded.ok) return recorded;
    // Also when nothing changed: an earlier run may have been cut short before this step.
    const followed = await followLedger(context);
    if (!followed.ok) return followed;
    const { gathered, report } = followed.value;
    const isSame = recorded.value.changed.length === 0;
    return ok(planReport(report, gathered, {
      json: { agent, keys, changed: !isSame },
      last: change.tell(keys, isSame),
    }));
  });
}
