/**
 * Problems of the host's spend ceilings: one that is near or reached, and sums that are
 * missing or old.
 *
 * @module
 */

import { readHostCeilings } from "cli/ceilings/host_sum.ts";
import type { VerbContext } from "cli/context.ts";
import { areSumsOld, parseHostCeilings } from "core/dial/host_ceilings.ts";
import type { CeilingView } from "core/dial/local_frames.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { editHint } from "core/hints/edit_hint.ts";
import { logHint } from "core/hints/log_hint.ts";
import { amountText, printAmount } from "core/usage/ceiling.ts";
import { suggestedMore } from "core/usage/spend.ts";
import { DAEMON_UNIT } from "units/render/unit_name.ts";

/** Returns the problems, from the ceilings that are set and the published sums. */
export async function hostCeilingProblems(context: VerbContext): Promise<readonly Refusal[]> {
  const { ports: { files, clock }, paths } = context;
  const ceilings = await readHostCeilings(context);
  if (!ceilings.ok) return [ceilings.error];
  if (ceilings.value.length === 0) return [];
  const text = await files.readText(paths.hostCeilings);
  const sums = text === undefined ? undefined : parseHostCeilings(text);
  if (sums === undefined || areSumsOld(sums, clock.now())) {
    const found = sums === undefined
      ? "there are none"
      : `they are of ${timeText(sums.summed_at)} UTC`;
    return [refusal(
      "host-ceilings-old",
      `The sums of what this host has spent are missing or old: ${found}. Agents pause`,
      { hints: ["fleetctl ceilings host sum", logHint(paths, DAEMON_UNIT)] },
    )];
  }
  return sums.ceilings.flatMap((each) => problemOf(each, paths.pricesFile));
}

function problemOf(of: CeilingView, pricesFile: string): readonly Refusal[] {
  const { level, period, unit, spent, limit, until } = of;
  if (level === "below") return [];
  if (level === "unpriced") {
    return [refusal(
      "host-ceiling-unpriced",
      `The ceiling of this host for each ${period} pauses all agents: ${of.unpriced.join(", ")} ` +
        "has no price",
      { hints: [editHint(pricesFile)] },
    )];
  }
  const amount = (count: number) => amountText({ unit, count });
  const more = suggestedMore({ ...of, ceiling: { unit, limit: of.ceiling } });
  const hints = [`fleetctl ceilings host allow ${period}=${printAmount({ unit, count: more })}`];
  const share = `${amount(spent)} of ${amount(limit)} that this host may spend this ${period}`;
  return level === "near"
    ? [refusal("host-ceiling-near", `The agents have spent ${share}`, { hints })]
    : [refusal(
      "host-ceiling-reached",
      `The agents have spent ${share}. All pause until ${timeText(until)} UTC`,
      { hints },
    )];
}

function timeText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace("T", " ");
}
