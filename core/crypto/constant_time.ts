/**
 * Constant-time comparison of secrets: timing does not reveal where two values differ. No I/O.
 *
 * @module
 */

/** Compares bytes; the time depends only on the length of `given`. */
export function areEqualBytes(given: Uint8Array, wanted: Uint8Array): boolean {
  let difference = given.length ^ wanted.length;
  for (let index = 0; index < given.length; index++) {
    difference |= (given[index] ?? 0) ^ (wanted[index % (wanted.length || 1)] ?? 0);
  }
  return difference === 0;
}

/**
 * Compares two texts by their UTF-8 bytes; the time depends only on the length of `given`.
 */
export function isEqualInConstantTime(given: string, wanted: string): boolean {
  const text = new TextEncoder();
  return areEqualBytes(text.encode(given), text.encode(wanted));
}
