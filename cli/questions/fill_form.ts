/**
 * Fills in the form of a question: from `name=value` options, or by a person at the terminal.
 * Answers are never invented: a field without a value gets its default or is left out.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { QuestionField, QuestionForm, QuestionReply } from "core/questions/form.ts";
import type { QuestionValue } from "core/questions/form.ts";
import { readTyped } from "core/questions/values.ts";
import { err, ok, type Result } from "core/result.ts";

/** Prompts for a line; undefined when there is no terminal. */
export type Prompt = VerbContext["promptLine"];

/** Maximum number of attempts that a person has per field. */
const TRIES = 3;

/** Parses `name=value` texts; undefined when one is not of that form, or repeats a name. */
export function parseNamed(texts: readonly string[]): ReadonlyMap<string, string> | undefined {
  const named = new Map<string, string>();
  for (const text of texts) {
    const at = text.indexOf("=");
    const name = text.slice(0, Math.max(0, at));
    if (name === "" || named.has(name)) return undefined;
    named.set(name, text.slice(at + 1));
  }
  return named;
}

/**
 * Fills in a form. `head` says who asks what. The person is asked for every field that is not in
 * `given`; without a prompt, such fields get their defaults.
 */
export async function fillForm(
  form: QuestionForm,
  of: {
    readonly head: string;
    readonly given: ReadonlyMap<string, string>;
    readonly prompt: Prompt | undefined;
  },
): Promise<QuestionReply> {
  const { head, given, prompt } = of;
  const { url, fields } = form;
  if (prompt !== undefined && url !== undefined) return await askUrl(head, url, prompt);
  if (prompt !== undefined && fields.length === 0) return await agree(`${head} [y/N] `, prompt);
  const values: [string, QuestionValue][] = [];
  for (const [at, field] of fields.entries()) {
    const intro = at === 0 ? `${head}\n` : "";
    const value = prompt === undefined || given.has(field.name)
      ? readTyped(field, given.get(field.name) ?? "")
      : await askField(field, intro, prompt);
    if (!value.ok) return { action: value.error === "declined" ? "decline" : "cancel" };
    if (value.value !== undefined) values.push([field.name, value.value]);
  }
  return { action: "accept", values: Object.fromEntries(values) };
}

async function agree(label: string, prompt: Prompt): Promise<QuestionReply> {
  const typed = await prompt(label);
  if (typed === undefined) return { action: "cancel" };
  return /^y(es)?$/i.test(typed) ? { action: "accept", values: {} } : { action: "decline" };
}

/** Asks whether the person has opened the address. This program never fetches it. */
async function askUrl(head: string, url: string, prompt: Prompt): Promise<QuestionReply> {
  const label = `${head}\nIt asks you to open this address at ${
    new URL(url).host
  }:\n  ${url}\nHave you opened it? [y/N] `;
  return await agree(label, prompt);
}

async function askField(
  field: QuestionField,
  intro: string,
  prompt: Prompt,
): Promise<Result<QuestionValue | undefined, "declined" | "given-up">> {
  let lead = intro;
  for (let round = 0; round < TRIES; round++) {
    const typed = await prompt(`${lead}${fieldText(field)}: `);
    if (typed === undefined) return err("given-up");
    if (typed === "!") return err("declined");
    const value = readTyped(field, typed);
    if (value.ok) return ok(value.value);
    lead = `  ${value.error}\n`;
  }
  return err("given-up");
}

function fieldText(field: QuestionField): string {
  const { title, description = title, options = [], kind, default: fallback, required } = field;
  const hasWords = options.some((option) => option.description !== undefined);
  const other = field.allows_other === true ? ["or other text"] : [];
  const hints = [
    ...(description === title ? [] : [description]),
    ...(options.length === 0 || hasWords
      ? []
      : [options.map((one, at) => `${at + 1} ${one.label}`).join(", ")]),
    ...other,
    ...(kind === "choices" ? ["several with commas between"] : []),
    ...(kind === "boolean" ? ["yes or no"] : []),
    ...(fallback === undefined ? required ? [] : ["may be left out"] : [
      `default ${valueText(fallback)}`,
    ]),
    'type "!" to decline',
  ];
  const lines = hasWords
    ? options.map(({ label, description: words }, at) =>
      `    ${at + 1} ${label}${words === undefined ? "" : `: ${words}`}\n`
    )
    : [];
  const hint = `(${hints.join("; ")})`;
  return hasWords ? `  ${title}\n${lines.join("")}  ${hint}` : `  ${title} ${hint}`;
}

/** Returns a value as people type it. */
export function valueText(value: QuestionValue): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "object" ? value.join(", ") : String(value);
}
