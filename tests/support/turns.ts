/**
 * Waits in turns of the event loop. Work without timers finishes within some turns, however busy
 * the machine is; work that waits for a timer of seconds does not.
 *
 * @module
 */

/** Maximum number of turns; each takes at least a millisecond. */
const TURNS_MAX = 200;

/** Returns whether `work` settles within some turns of the event loop. */
export async function settlesAtOnce(work: Promise<unknown>): Promise<boolean> {
  let isSettled = false;
  const settle = () => {
    isSettled = true;
  };
  work.then(settle, settle);
  for (let turn = 0; !isSettled && turn < TURNS_MAX; turn++) {
    await new Promise((resolve) => setTimeout(resolve));
  }
  return isSettled;
}
