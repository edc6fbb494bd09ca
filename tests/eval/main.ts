/**
 * `./dev eval [task…] [--model provider/model]`: runs the tasks with the built-in runtime and
 * prints a table. Without a model, each task has a scripted one. Exits with 1 if a task failed.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { errorText } from "core/errors.ts";
import { realModel } from "tests/eval/real_model.ts";
import { printResults } from "tests/eval/results.ts";
import { runReal, runScripted, type TaskResult } from "tests/eval/run_task.ts";
import { EVAL_TASKS } from "tests/eval/tasks.ts";

const { model: name, names } = readArguments();
const unknown = names.find((wanted) => !EVAL_TASKS.some((task) => task.name === wanted));
if (unknown !== undefined) {
  const known = EVAL_TASKS.map((task) => task.name).join(", ");
  refuse(`Cannot run the task ${JSON.stringify(unknown)}: it must be one of ${known}`);
}
const tasks = EVAL_TASKS.filter((task) => names.length === 0 || names.includes(task.name));
const model = name === undefined ? undefined : realModel(name, Deno.env.toObject());
if (model?.ok === false) {
  refuse([model.error.message, ...model.error.hints.map((hint) => `hint: ${hint}`)].join("\n"));
}

const results: TaskResult[] = [];
for (const task of tasks) {
  console.error(`dev: ${task.name} (${results.length + 1} of ${tasks.length})`);
  results.push(await (model === undefined ? runScripted(task) : runReal(task, model.value)));
}
console.log(printResults(results));
Deno.exit(results.every(({ fault }) => fault === undefined) ? 0 : 1);

function readArguments() {
  try {
    const options = { model: { type: "string" } } as const;
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    return { model: values.model, names: positionals };
  } catch (thrown) {
    return refuse(`Cannot read the arguments: ${errorText(thrown)}`);
  }
}

function refuse(text: string): never {
  console.error(`dev: ${text}`);
  Deno.exit(2);
}
