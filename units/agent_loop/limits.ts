/**
 * Bounds of the built-in runtime, each with its unit in its name and its reason beside it.
 *
 * @module
 */

const KIB = 1024;

/** The built-in runtime. */
export const RUNTIME_LIMITS = {
  /** Model calls in one turn before the loop stops and says so. */
  stepsMax: 64,
  /** Assumed window of a model that does not state one, in tokens. */
  contextTokensDefault: 128_000,
  bashSeconds: 600,
  bashOutputBytesMax: 64 * KIB,
  readBytesMax: 256 * KIB,
} as const;
