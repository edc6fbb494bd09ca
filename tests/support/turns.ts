/**
 * Waiting in turns of the event loop: what a program does at once is done within some of them,
 * however busy the machine is, and what waits for a timer of seconds is not.
 *
 * @module
 */

/** Each turn takes a millisecond at least. */
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
