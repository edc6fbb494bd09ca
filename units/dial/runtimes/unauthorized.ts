/**
 * Recognizes, in the words of programs and endpoints, that an endpoint does not accept a key or a
 * sign-in. Programs report it as one failure among others. Pure.
 *
 * @module
 */

/** Code of a turn that failed for this reason. */
export const UNAUTHORIZED = "model-unauthorized";

const WORDS = new RegExp(
  [
    "API Error: 40[13]\\b",
    "^40[13]\\b",
    "status(?: code)?:? 40[13]\\b",
    "authentication[_ ](?:error|required|failed)",
    "(?:invalid|incorrect|no|missing) (?:x-)?api[-_ ]?key",
    "invalid_api_key",
    "run \\/login",
    "OAuth token (?:has expired|revoked)",
    "\\bunauthorized\\b",
  ].join("|"),
  "i",
);

/** Returns the code of a turn that failed with this reason. */
export function failureCode(reason: string): string {
  return WORDS.test(reason) ? UNAUTHORIZED : "runtime-error";
}
