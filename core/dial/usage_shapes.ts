/**
 * Figures of usage as the local socket carries them: tokens of a model, and turns of a day.
 *
 * @module
 */

import * as z from "zod";
import { USAGE_LIMITS } from "core/limits/usage.ts";

const count = z.number().int().nonnegative();

/** The tokens of one model. */
export const modelTokens = {
  model: z.string().min(1).max(USAGE_LIMITS.modelLengthMax),
  input_tokens: count,
  output_tokens: count,
  cached_read_tokens: count,
  cached_write_tokens: count,
};

/** Tokens of one model on one day; the days are those of UTC. */
export const usageOfModel = z.object({
  day: z.iso.date(),
  model: z.string().min(1).max(USAGE_LIMITS.modelLengthMax),
  turns: count,
  /** Turns that used more than was reported. */
  partial_turns: count,
  input_tokens: count,
  output_tokens: count,
  cached_read_tokens: count,
  cached_write_tokens: count,
  /** Input of the turn with the most, cached tokens included. No prompt was longer. */
  largest_input_tokens: count,
});
/** Parsed tokens of one model on one day. */
export type UsageOfModel = z.infer<typeof usageOfModel>;

/** Number of turns on one day. A turn with two models is one turn. */
export const usageOfDay = z.object({
  day: z.iso.date(),
  turns: count,
  /** Turns whose runtime reported no figures. */
  unknown_turns: count,
  /** Turns that used more than was reported. */
  partial_turns: count,
});
/** Parsed number of turns on one day. */
export type UsageOfDay = z.infer<typeof usageOfDay>;
