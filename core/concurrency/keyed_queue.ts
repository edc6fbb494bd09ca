/**
 * A keyed queue: one job at a time per name, first in, first out. Different names run concurrently.
 *
 * @module
 */

/** Runs the jobs of one name one after another; resolves when this job has ended. */
export type KeyedQueue = (name: string, job: () => Promise<void>) => Promise<void>;

/**
 * Creates a keyed queue. A job that rejects is reported to `onFault` and does not stop later ones.
 */
export function createKeyedQueue(onFault: (name: string, thrown: unknown) => void): KeyedQueue {
  const tails = new Map<string, Promise<void>>();
  return (name, job) => {
    const before = tails.get(name) ?? Promise.resolve();
    const tail = before.then(job).catch((thrown) => onFault(name, thrown));
    tails.set(name, tail);
    tail.then(() => {
      if (tails.get(name) === tail) tails.delete(name);
    });
    return tail;
  };
}
