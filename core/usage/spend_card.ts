/**
 * The card with which an agent at a ceiling asks its owner to spend more: the arguments that it is
 * stored with, and its words in the page and in team chat. Every argument is in the words, so that
 * a person sees what the card would allow. Pure.
 *
 * @module
 */

import { amountText, type Period, PERIODS, type SpendUnit } from "core/usage/ceiling.ts";

/** What an agent at a ceiling asks for. Amounts are as `amountText` prints them. */
export type SpendRequest = Readonly<Record<typeof ARGUMENTS[number], string>>;

/** The words of a card. */
export interface SpendCard {
  /** Such as `The daily ceiling of 5 USD is reached`. */
  readonly title: string;
  readonly spent: string;
  /** Who may allow how much more. */
  readonly mayAllow: string;
  /** What follows when the owner allows nothing. */
  readonly otherwise: string;
  /** The button that allows more. */
  readonly allow: string;
}

/** Name of the card among the calls that wait. */
export const SPEND_MORE = "spend_more";

const ARGUMENTS = ["period", "ceiling", "spent", "allow_more", "owner_may_allow", "until"] as const;
const ADJECTIVES: Readonly<Record<Period, string>> = {
  hour: "hourly",
  day: "daily",
  month: "monthly",
};
const AMOUNT = /^(at least )?[\d,]{1,20}(\.\d{2} USD| tokens?)$/;
const TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d UTC$/;

/** Returns the arguments of a card. */
export function spendRequest(of: {
  readonly period: Period;
  readonly unit: SpendUnit;
  readonly limit: number;
  readonly spent: number;
  /** More than `spent` may have been spent. */
  readonly isMinimum: boolean;
  /** What one press allows. */
  readonly more: number;
  /** What the owner may still allow in this period. */
  readonly ownerLeft: number;
  readonly until: string;
}): SpendRequest {
  const amount = (count: number) => amountText({ unit: of.unit, count });
  return {
    period: of.period,
    ceiling: amount(of.limit),
    spent: `${of.isMinimum ? "at least " : ""}${amount(of.spent)}`,
    allow_more: amount(of.more),
    owner_may_allow: amount(of.ownerLeft),
    until: of.until,
  };
}

/**
 * Returns the words of a waiting call; undefined for any other call, and for one whose arguments
 * are not exactly those of a card.
 */
export function spendCardOf(call: {
  readonly mcp: string | undefined;
  readonly tool: string;
  readonly arguments: unknown;
}): SpendCard | undefined {
  if ((call.mcp ?? "") !== "" || call.tool !== SPEND_MORE) return undefined;
  const request = readRequest(call.arguments);
  const period = PERIODS.find((each) => each === request?.period);
  if (request === undefined || period === undefined) return undefined;
  const { ceiling, spent, allow_more, owner_may_allow, until } = request;
  if (![ceiling, spent, allow_more, owner_may_allow].every((each) => AMOUNT.test(each))) {
    return undefined;
  }
  if (!TIME.test(until)) return undefined;
  return {
    title: `The ${ADJECTIVES[period]} ceiling of ${short(ceiling)} is reached`,
    spent: `Spent this ${period}: ${short(spent)}.`,
    mayAllow:
      `The owner may allow ${short(owner_may_allow)} more until ${until}, and an operator ` +
      "any amount.",
    otherwise: "Otherwise the turn ends, and the agent pauses until then.",
    allow: `Allow ${short(allow_more)} more`,
  };
}

function readRequest(given: unknown): SpendRequest | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  const found = Object.entries(given);
  const isWhole = found.length === ARGUMENTS.length &&
    found.every(([key, value]) =>
      ARGUMENTS.some((each) => each === key) && typeof value === "string"
    );
  return isWhole ? given as SpendRequest : undefined;
}

/** Whole dollars need no cents in a sentence. */
function short(amount: string): string {
  return amount.replace(".00 USD", " USD");
}
