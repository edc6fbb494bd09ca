/**
 * Ids whose texts sort by time (UUID version 7, RFC 9562, 5.7): rows created in sequence are
 * adjacent in an index and share its pages. Pure: time and randomness are arguments.
 *
 * @module
 */

const TIME_DIGITS = 12;

/** Returns one from a random UUID and a time in milliseconds; 74 bits stay random. */
export function timeUuid(random: string, nowMs: number): string {
  const time = Math.max(0, Math.floor(nowMs)).toString(16).padStart(TIME_DIGITS, "0");
  return `${time.slice(0, 8)}-${time.slice(8, TIME_DIGITS)}-7${random.slice(15)}`;
}
