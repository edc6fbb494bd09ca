/**
 * Which results of a `stream_json` program end the prompted turn, by the messages before them.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createStreamTurns } from "units/dial/runtimes/stream_json_turns.ts";

const INIT = { type: "system", subtype: "init" };
const TASK_ENDED = { type: "system", subtype: "task_notification" };
const repeated = (uuid: string) => ({ type: "user", isReplay: true, uuid });
const RESULT = "result";
type Step = { readonly type: string } | { readonly prompt: string } | typeof RESULT;

const FIRST: readonly Step[] = [{ prompt: "a" }, INIT, repeated("a"), RESULT];
/** The wanted answers of `endsOwn()`, one for each result. */
const ROWS: readonly (readonly [string, readonly Step[], readonly boolean[]])[] = [
  ["a prompted turn", FIRST, [false]],
  ["a turn that the program begins between prompts", [...FIRST, INIT, RESULT], [false, true]],
  [
    "a prompt that waits for such a turn",
    [...FIRST, INIT, { prompt: "b" }, RESULT, INIT, repeated("b"), RESULT],
    [false, true, false],
  ],
  [
    "a prompt that joins such a turn",
    [...FIRST, INIT, { prompt: "b" }, repeated("b"), RESULT],
    [false, false],
  ],
  [
    "a task that ends when the prompt is on its way",
    [...FIRST, { prompt: "b" }, TASK_ENDED, INIT, RESULT, INIT, repeated("b"), RESULT],
    [false, true, false],
  ],
  [
    "a task that ends during a prompted turn",
    [{ prompt: "a" }, INIT, repeated("a"), TASK_ENDED, RESULT],
    [false],
  ],
  ["a command of the program itself", [...FIRST, { prompt: "/cost" }, INIT, RESULT], [
    false,
    false,
  ]],
  [
    "a program that repeats nothing",
    [{ prompt: "a" }, INIT, RESULT, INIT, { prompt: "b" }, RESULT],
    [
      false,
      false,
    ],
  ],
];
for (const [name, steps, wanted] of ROWS) {
  Deno.test(`endsOwn() knows ${name}`, () => {
    const turns = createStreamTurns();
    const seen: boolean[] = [];
    for (const step of steps) {
      if (step === RESULT) seen.push(turns.endsOwn());
      else if ("prompt" in step) turns.prompted(step.prompt);
      else turns.read(step);
    }
    assert.deepEqual(seen, wanted);
  });
}
