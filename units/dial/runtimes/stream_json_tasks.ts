/**
 * What a program of `stream_json` does between turns, from its own messages: background tasks,
 * scheduled jobs, and turns that it begins itself when a task has ended. All of it ends with the
 * program.
 *
 * @module
 */

import { blocksOf, fieldsOf, type Message, textOf } from "units/dial/runtimes/message.ts";

/** Follows the messages of one program. */
export interface StreamTasks {
  read(message: Message): void;
  /** Returns what the program still does, or undefined. Meant for the time between turns. */
  unfinished(): string | undefined;
}

/** States of a task that has not ended. */
const OPEN_STATES = new Set(["pending", "running", "paused"]);

/** Creates the state of one process. */
export function createStreamTasks(): StreamTasks {
  /** Ids of the tasks that have not ended. */
  const tasks = new Set<string>();
  /** Jobs that the model scheduled and did not delete. One that is over still counts. */
  let jobs = 0;
  let isTurnOpen = false;

  function readTask({ subtype, task_id, status, patch }: Message): void {
    const id = textOf(task_id);
    const state = textOf(status) || textOf(fieldsOf(patch).status);
    if (subtype === "task_started") tasks.add(id);
    else if (state !== "" && !OPEN_STATES.has(state)) tasks.delete(id);
  }

  function readCalls(message: Message): void {
    for (const { type, name } of blocksOf(fieldsOf(message.message).content)) {
      if (type !== "tool_use") continue;
      if (name === "CronCreate") jobs++;
      if (name === "CronDelete") jobs = Math.max(0, jobs - 1);
    }
  }

  return {
    read(message) {
      if (message.type === "result") isTurnOpen = false;
      if (message.type === "assistant") readCalls(message);
      if (message.type !== "system") return;
      if (message.subtype === "init") isTurnOpen = true;
      else if (textOf(message.subtype).startsWith("task_")) readTask(message);
    },
    unfinished() {
      if (isTurnOpen) return "it works on a turn that it began itself";
      if (tasks.size > 0) return `background tasks run: ${tasks.size}`;
      return jobs > 0 ? `jobs are scheduled: ${jobs}` : undefined;
    },
  };
}
