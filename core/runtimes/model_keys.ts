/**
 * Names of the variables that hold keys of models.
 *
 * @module
 */

/** Variables whose values are never passed to a tool and never shown. */
export const MODEL_KEY_NAMES: readonly string[] = [
  "ANTHROPIC_API_KEY",
  "OPENAI_API_KEY",
  "FLEETCTL_MODEL_KEY",
];
