/**
 * Ids whose texts are in the order of their time (UUID version 7, RFC 9562, 5.7): rows that
 * are made one after the other lie side by side in an index, and share its pages. No clock and
 * no randomness of its own.
 *
 * @module
 */

const TIME_DIGITS = 12;

/** Makes one of a random UUID and a time in milliseconds; 74 of its bits stay random. */
export function timeUuid(random: string, nowMs: number): string {
  const time = Math.max(0, Math.floor(nowMs)).toString(16).padStart(TIME_DIGITS, "0");
  return `${time.slice(0, 8)}-${time.slice(8, TIME_DIGITS)}-7${random.slice(15)}`;
}
