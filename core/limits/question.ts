/**
 * Limits of questions of a program to a person. Each name has its unit, and each comment its
 * reason.
 *
 * @module
 */

const KIB = 1024;

/** Forms that a person fills in for a program. */
export const QUESTION_LIMITS = {
  /** Time for an answer; after it the question expires. */
  askSeconds: 3600,
  /** Open questions of one agent; a person answers them one by one. */
  openMax: 16,
  /** Fields of a form, and options of a field, that a person can survey. */
  fieldsMax: 16,
  optionsMax: 64,
  /** The whole form and the whole answer as JSON: the transcript stores both. */
  formBytesMax: 16 * KIB,
  answerBytesMax: 16 * KIB,
  nameLengthMax: 128,
  /** Ended questions that a dial unit and the gateway remember. */
  endedKept: 256,
} as const;
