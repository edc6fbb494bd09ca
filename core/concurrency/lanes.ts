/**
 * One job at a time per agent, in the order of asking; agents do not wait for one another.
 *
 * @module
 */

/** Runs jobs of one name after another. */
export type Lanes = (name: string, job: () => Promise<void>) => Promise<void>;

/** Makes lanes; a job that rejects is told to `onFault` and does not stop the ones behind it. */
export function createLanes(onFault: (name: string, thrown: unknown) => void): Lanes {
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
