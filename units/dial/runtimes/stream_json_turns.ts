/**
 * Which `result` of a `stream_json` program ends the turn that was prompted. When a background task
 * has ended, the program begins a turn itself. A prompt that arrives meanwhile waits, or joins that
 * turn. With `--replay-user-messages` the program repeats each prompt when it takes it up. No I/O.
 *
 * @module
 */

import type { Message } from "units/dial/runtimes/message.ts";

/** Follows the turns of one process. */
export interface StreamTurns {
  /** Begins to wait for the prompt with this id. */
  prompted(id: string): void;
  read(message: Message): void;
  /** Returns whether a `result` ends a turn that the program began itself, without the prompt. */
  endsOwn(): boolean;
}

/** Creates the state of one process. */
export function createStreamTurns(): StreamTurns {
  /** The open prompt. */
  let prompt: string | undefined;
  let isTakenUp = false;
  /** Programs without the flag repeat nothing: each of their results ends the prompted turn. */
  let repeats = false;
  /** Whether the running turn, or the next one, is one that the program began itself. */
  let isOwn = false;

  return {
    prompted(id) {
      prompt = id;
      isTakenUp = false;
    },
    read({ type, subtype, isReplay, uuid }) {
      if (type === "system" && subtype === "init") isOwn ||= prompt === undefined;
      if (type === "system" && subtype === "task_notification") isOwn = true;
      if (type !== "user" || isReplay !== true) return;
      repeats = true;
      isTakenUp ||= prompt !== undefined && uuid === prompt;
    },
    endsOwn() {
      // The program does not repeat its own commands, such as `/cost`.
      const isOthers = repeats && isOwn && !isTakenUp;
      isOwn = false;
      if (isOthers) return true;
      prompt = undefined;
      isTakenUp = false;
      return false;
    },
  };
}
