/**
 * All tasks of the evaluation, in the order of the table.
 *
 * @module
 */

import type { EvalTask } from "tests/eval/task.ts";
import { CODE_TASKS } from "tests/eval/tasks/code.ts";
import { FILE_TASKS } from "tests/eval/tasks/files.ts";
import { LONG_TASKS } from "tests/eval/tasks/long.ts";
import { OFFICE_TASKS } from "tests/eval/tasks/office.ts";

/** The tasks. */
export const EVAL_TASKS: readonly EvalTask[] = [
  ...CODE_TASKS,
  ...FILE_TASKS,
  ...OFFICE_TASKS,
  ...LONG_TASKS,
];
