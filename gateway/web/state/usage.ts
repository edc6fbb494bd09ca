/**
 * The tokens of a turn in words, from its event `usage`. Without that event nothing is shown: what
 * is not known is not zero. Pure.
 *
 * @module
 */

import { number, record, text, type WireEvent } from "gateway/web/state/wire.ts";

/** The tokens of one turn, of all its models. */
export interface TurnTokens {
  readonly models: readonly string[];
  readonly input: number;
  readonly output: number;
  /** Read from the provider's cache, or written to it. */
  readonly cached: number;
  /** The turn may have used more than this. */
  readonly isPartial: boolean;
}

/** Returns the tokens that the turn reported; undefined when it reported none. */
export function tokensOf(group: readonly WireEvent[]): TurnTokens | undefined {
  const payload = group.findLast(({ kind }) => kind === "usage")?.payload;
  if (payload === undefined || !Array.isArray(payload.models)) return undefined;
  const models = payload.models.map(record);
  const sum = (key: string) => models.reduce((total, model) => total + number(model[key]), 0);
  const ended = group.find(({ kind }) => kind === "turn_ended")?.payload;
  const tokens = {
    models: models.map(({ model }) => text(model)),
    input: sum("input_tokens"),
    output: sum("output_tokens"),
    cached: sum("cached_read_tokens") + sum("cached_write_tokens"),
    // Its last call of the model may be missing.
    isPartial: payload.is_partial === true || text(ended?.outcome) !== "completed",
  };
  return tokens.input + tokens.output + tokens.cached === 0 ? undefined : tokens;
}

const COUNT = new Intl.NumberFormat("en");

/** Returns the tokens on one line, such as `1,200 tokens in · 350 out · 9,000 cached`. */
export function tokenWords({ input, output, cached, isPartial }: TurnTokens): string {
  const words = [
    `${COUNT.format(input)} tokens in`,
    `${COUNT.format(output)} out`,
    ...(cached === 0 ? [] : [`${COUNT.format(cached)} cached`]),
  ].join(" · ");
  return isPartial ? `at least ${words}` : words;
}
