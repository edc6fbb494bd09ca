/**
 * Limits of the built-in runtime. Each has its unit in its name and its reason in a comment.
 *
 * @module
 */

const KIB = 1024;

/** Limits of the built-in runtime. */
export const RUNTIME_LIMITS = {
  /** Model calls in one turn before it stops, if the settings name no other number. */
  stepsDefault: 64,
  /** Window of a model that does not state one, in tokens. */
  contextTokensDefault: 128_000,
  bashSeconds: 600,
  bashOutputBytesMax: 64 * KIB,
  readBytesMax: 256 * KIB,
} as const;
