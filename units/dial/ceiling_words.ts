/**
 * What people read about spend ceilings: warnings, refusals and the card for the owner. Pure.
 *
 * @module
 */

import type { CeilingView } from "core/dial/local_frames.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { amountText, type Ceiling, printAmount } from "core/usage/ceiling.ts";
import { type CeilingState, suggestedMore } from "core/usage/spend.ts";
import { type SpendRequest, spendRequest } from "core/usage/spend_card.ts";

/** Returns the refusal of a turn, or of its next model call. */
export function ceilingRefusal(agent: string, state: CeilingState): Refusal {
  return state.level === "unpriced" ? unpriced(agent, state) : reached(agent, state);
}

function reached(agent: string, state: CeilingState): Refusal {
  const { ceiling: { period, unit }, stretch } = state;
  const more = printAmount({ unit, count: suggestedMore(state) });
  return refusal(
    "ceiling-reached",
    `Cannot use the model: agent "${agent}" has spent ${spentText(state)}, must wait until ` +
      `${timeText(stretch.until)}, or an operator must allow more`,
    { hints: [`fleetctl ceilings allow ${agent} ${period}=${more}`] },
  );
}

function unpriced(agent: string, { ceiling: { period }, unpriced: models }: CeilingState): Refusal {
  const names = models.map((model) => JSON.stringify(model)).join(", ");
  return refusal(
    "ceiling-unpriced",
    `Cannot use the model: agent "${agent}" has a ceiling in dollars for each ${period}, and ` +
      `${names} has no price, must have one in /etc/fleetctl/prices.yaml, or the ceiling must be ` +
      "in tokens",
    { hints: [`fleetctl agents set ${agent} --ceiling ${period}=2m-tokens`] },
  );
}

/** Returns the refusal of a turn at a ceiling of the host. */
export function hostReached(of: CeilingView): Refusal {
  const { period, unit, unpriced: models } = of;
  if (of.level === "unpriced") {
    const names = models.map((model) => JSON.stringify(model)).join(", ");
    return refusal(
      "host-ceiling-unpriced",
      `Cannot use the model: this host has a ceiling in dollars for each ${period}, and ${names} ` +
        "has no price, must have one in /etc/fleetctl/prices.yaml, or the ceiling must be in " +
        "tokens",
      { hints: ["fleetctl ceilings list"] },
    );
  }
  const amount = (count: number) => amountText({ unit, count });
  const more = suggestedMore({ ...of, ceiling: { unit, limit: of.ceiling } });
  return refusal(
    "host-ceiling-reached",
    `Cannot use the model: all agents of this host have spent ${amount(of.spent)} of the ` +
      `${amount(of.limit)} that they may spend this ${period}, must wait until ` +
      `${timeText(of.until)}, or an operator must allow more`,
    { hints: [`fleetctl ceilings host allow ${period}=${printAmount({ unit, count: more })}`] },
  );
}

/** Returns the refusal of a turn while the host's ceilings cannot be compared. */
export function hostUnchecked(why: string): Refusal {
  return refusal(
    "host-ceiling-unchecked",
    `Cannot use the model: the spending of this host cannot be compared with its ceilings: ${why}`,
    { hints: ["fleetctl ceilings host sum"] },
  );
}

/** Returns the warning of a ceiling that is near. */
export function nearText(state: CeilingState): string {
  return `The agent has spent ${spentText(state)}. At this limit it pauses until ` +
    timeText(state.stretch.until);
}

/** The reason that is shown while the host's ceilings pause the agent. */
export const HOST_PAUSED = "paused: ceiling of the host";

/** Returns the reason that is shown beside the state of a paused agent. */
export function pausedText(state: CeilingState): string {
  const { ceiling, unpriced: models, stretch, level } = state;
  return level === "unpriced"
    ? `paused: no price for ${models.join(", ")}`
    : `paused: ceiling of this ${ceiling.period} reached, until ${timeText(stretch.until)}`;
}

/** Returns the arguments of the card that asks the owner for `more`. */
export function cardArguments(state: CeilingState, more: number): SpendRequest {
  const { ceiling: { period, unit }, stretch } = state;
  return spendRequest({ ...state, period, unit, more, until: timeText(stretch.until) });
}

/** Returns `5.02 USD of the 5.00 USD that it may spend this day`. */
function spentText({ ceiling: { unit, period }, spent, limit, isMinimum }: CeilingState): string {
  const least = isMinimum ? "at least " : "";
  return `${least}${amountText({ unit, count: spent })} of the ` +
    `${amountText({ unit, count: limit })} that it may spend this ${period}`;
}

/** Returns a time to the minute. */
function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** Returns the refusal of an allowance for a ceiling that the agent does not have. */
export function noSuchCeiling(agent: string, { period, unit }: Pick<Ceiling, "period" | "unit">) {
  return refusal(
    "ceiling-unknown",
    `Cannot allow more: agent "${agent}" has no ceiling of the ${period} in ${unit}`,
    { hints: [`fleetctl ceilings list ${agent}`] },
  );
}
