/**
 * Bounded waits: a story that waits for something that never comes fails alone, and does not take
 * its whole file with it.
 *
 * @module
 */

/** Longest wait of a test for one thing, milliseconds. A slow machine needs a tenth of it. */
const WAIT_MS_MAX = 90_000;

/** Returns what `waited` resolves to; rejects with `what` when that takes too long. */
export async function boundedWait<T>(
  waited: Promise<T>,
  what: () => string,
  ms = WAIT_MS_MAX,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what()}: nothing after ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([waited, late]);
  } finally {
    clearTimeout(timer);
  }
}
