/**
 * Runs two asynchronous operations against each other at every await. The second one starts a given
 * number of event-loop turns and microtasks after the first. Across all offsets, it starts at each
 * pause of the first.
 *
 * @module
 */

/** When the second operation starts. */
export interface Offset {
  /** Turns of the event loop, for awaits that wait for another thread or for a timer. */
  readonly turns: number;
  /** Microtasks after that, for every other await. */
  readonly microtasks: number;
}

/** Maximum number of microtasks of a product operation between two turns of the event loop. */
const MICROTASKS_MAX = 80;
const TURNS_MAX = 5;

/** Yields every offset once, then repeats them until there are `rounds`. */
export function* offsets(rounds: number): Generator<Offset> {
  for (let round = 0; round < rounds; round++) {
    const at = round % (MICROTASKS_MAX * TURNS_MAX);
    yield { microtasks: at % MICROTASKS_MAX, turns: Math.floor(at / MICROTASKS_MAX) };
  }
}

/** Starts `first`, waits for the offset, runs `second`, and returns the outcome of `first`. */
export async function interleave<T>(
  offset: Offset,
  first: () => Promise<T>,
  second: () => unknown,
): Promise<T> {
  const running = first();
  // The caller awaits a rejection below; this prevents an unhandled one before that.
  running.catch(() => {});
  for (let turn = 0; turn < offset.turns; turn++) await eventLoopTurn();
  for (let task = 0; task < offset.microtasks; task++) await Promise.resolve();
  await second();
  return await running;
}

/** Resolves after the event loop has served what is ready now. */
export function eventLoopTurn(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
