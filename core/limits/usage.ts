/**
 * Limits of usage reports: the tokens of an agent's turns. Each name has its unit, and each comment
 * its reason.
 *
 * @module
 */

/** Tokens by turn and model, reported by the runtime and kept by the dial unit. */
export const USAGE_LIMITS = {
  /** Models of one turn. A turn with sub-agents uses a few. */
  modelsPerTurnMax: 16,
  /** Characters of a model id; those of gateways contain a vendor and a region. */
  modelLengthMax: 160,
  /**
   * Tokens of one kind in one turn. A thousand calls with a full window of a million tokens stay
   * below it, and the sum over all rows stays a whole number that SQLite and JSON pass on exactly.
   */
  tokensMax: 10_000_000_000,
  /** Days that a turn's figures are kept: a year, and the month after it. */
  daysKept: 400,
  /** Rows per store, one for each turn and model: 250 turns a day, some 15 MB. */
  rowsKept: 100_000,
  /** Rows of one answer, one for each day and model: 20 models on every day that is kept. */
  answerRowsMax: 8_000,
  /** Bytes of such an answer. */
  answerBytesMax: 4 * 1024 * 1024,
} as const;
