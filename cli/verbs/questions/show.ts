/**
 * `fleetctl questions show <id>`: one question of a program with its fields, their options and
 * names, and its answer. Changes nothing.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { verbatimReport, type VerbReport } from "cli/output.ts";
import { valueText } from "cli/questions/fill_form.ts";
import { findQuestion } from "cli/questions/queries.ts";
import type { QuestionView } from "core/dial/local_frames.ts";
import { lineOf, type QuestionField } from "core/questions/form.ts";
import { ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl questions show`. */
export interface Options {
  readonly id: string;
}

/** Parses the arguments. */
export function parseOptions({ args }: Invocation): Result<Options> {
  return ok({ id: args.id ?? "" });
}

/** Queries the dial units. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const found = await findQuestion(context, options.id);
  return found.ok ? ok(verbatimReport(found.value, questionLines(found.value))) : found;
}

/** Returns a question as lines for people. */
function questionLines(of: QuestionView): readonly string[] {
  const { mcp, action, by = "", surface = "", message } = of;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["question", of.id],
    ["agent", of.agent],
    ["asked by", mcp === null ? "the agent's program" : `MCP ${mcp}`],
    ["turn", of.turn_id],
    ["asked", new Date(of.asked).toISOString()],
    ["expires", new Date(of.expires).toISOString()],
    ["state", of.state],
    ["answer", action === undefined ? undefined : `${action} by ${by} (${surface})`],
    ["address", of.url],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name.padEnd(width)}  ${lineOf(value)}`]
  );
  return [
    ...lines,
    ...(message === "" ? [] : ["message", ...indented(message)]),
    ...of.fields.flatMap((field) => fieldLines(field, of.values)),
  ];
}

function indented(text: string): readonly string[] {
  return text.split("\n").map((line) => `  ${line}`);
}

function fieldLines(field: QuestionField, values: QuestionView["values"]): readonly string[] {
  const { name, title, description, kind, required, options = [], min, max, format } = field;
  const facts = [
    field.allows_other === true ? `${kind} or other text` : kind,
    ...(required ? ["required"] : []),
    ...(min === undefined ? [] : [`at least ${min}`]),
    ...(max === undefined ? [] : [`at most ${max}`]),
    ...(format === undefined ? [] : [format]),
    ...(field.default === undefined ? [] : [`default ${lineOf(valueText(field.default))}`]),
  ];
  const value = Object.hasOwn(values ?? {}, name) ? values?.[name] : undefined;
  return [
    `field ${name}: ${title} (${facts.join(", ")})`,
    ...(description === undefined ? [] : indented(description)),
    ...options.map((option, at) => `  ${at + 1} ${optionText(option)}`),
    ...(value === undefined ? [] : [`  answer: ${lineOf(valueText(value))}`]),
  ];
}

function optionText(
  { label, value, description }: NonNullable<QuestionField["options"]>[number],
): string {
  const more = description === undefined ? "" : `: ${description}`;
  return `${label}${label === value ? "" : ` [${value}]`}${more}`;
}
