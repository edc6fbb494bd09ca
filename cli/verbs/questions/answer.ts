/**
 * `fleetctl questions answer <id>`: answers a question of an agent's program, from `--set` or on
 * the terminal. The dial unit checks the answer and accepts the first one only.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { fillForm, parseNamed } from "cli/questions/fill_form.ts";
import { findQuestion } from "cli/questions/queries.ts";
import { send } from "cli/questions/send.ts";
import type { QuestionView } from "core/dial/local_frames.ts";
import { refusal } from "core/errors.ts";
import { lineOf, type QuestionValues } from "core/questions/form.ts";
import { unfitAnswer } from "core/questions/question.ts";
import { checkValues, readTyped } from "core/questions/values.ts";
import { err, ok, type Result } from "core/result.ts";
import { type Invocation, repeated } from "core/verbs/invocation.ts";

/** Options of `fleetctl questions answer`. */
export interface Options {
  readonly id: string;
  readonly given: ReadonlyMap<string, string>;
  /** Accepts a question without fields. */
  readonly isAccepted: boolean;
}

/** Parses the arguments. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const given = parseNamed(repeated(invocation, "set"));
  return given === undefined
    ? err(refusal(
      "answer-invalid",
      "Cannot answer the question: a --set is not name=value, or repeats a name",
      { kind: "usage" },
    ))
    : ok({
      id: invocation.args.id ?? "",
      given,
      isAccepted: invocation.switches.has("accept"),
    });
}

/** Fills in the form and sends it. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const found = await findQuestion(context, options.id);
  if (!found.ok) return found;
  const question = found.value;
  // A question that is closed already is refused by the dial unit, without asking anything.
  if (question.state !== "asked") return await send(context, question, { action: "answered" });
  if (options.given.size > 0 || options.isAccepted) {
    const values = valuesOf(question, options.given);
    return values.ok
      ? await send(context, question, { action: "answered", values: values.value })
      : values;
  }
  const asker = question.mcp === null ? "The program" : `MCP "${question.mcp}"`;
  const reply = await fillForm(question, {
    head: `${asker} of agent "${question.agent}" asks: ${question.message}`.trimEnd(),
    given: options.given,
    prompt: (label) => context.promptLine(label),
  });
  if (reply.action === "cancel") return err(notAnswered(question));
  return reply.action === "decline"
    ? await send(context, question, { action: "declined" })
    : await send(context, question, { action: "answered", values: reply.values });
}

/** Reads the given texts as values of the form. A field without a text gets its default. */
function valuesOf(
  question: QuestionView,
  given: ReadonlyMap<string, string>,
): Result<QuestionValues> {
  const values: [string, unknown][] = [];
  const faults: string[] = [];
  for (const field of question.fields) {
    const value = readTyped(field, given.get(field.name) ?? "");
    if (value.ok) values.push([field.name, value.value]);
    else faults.push(`${field.name}: ${value.error}`);
  }
  const known = new Set(question.fields.map(({ name }) => name));
  const others = [...given].filter(([name]) => !known.has(name));
  const checked = checkValues(question, Object.fromEntries([...values, ...others]));
  if (faults.length === 0 && checked.ok) return checked;
  const unknown = others.map(([name]) => `${name}: the question has no such field`);
  const rest = faults.length > 0 || unknown.length > 0 || checked.ok ? [] : checked.error;
  return err(unfitAnswer(question.id, [...unknown, ...faults, ...rest].map(lineOf)));
}

function notAnswered({ id, fields }: QuestionView) {
  const option = fields.length === 0 ? "--accept" : "--set";
  return refusal(
    "answer-missing",
    `Cannot answer question "${id}": it has no answer, must get one on a terminal or by ${option}`,
    { kind: "usage", hints: [`fleetctl questions show ${id}`] },
  );
}
