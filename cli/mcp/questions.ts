/**
 * Answers to the questions that a server asks during `mcp call` and `mcp read`. They come from
 * `--answer`, or from the person at the terminal, who sees which server asks. Answers are never
 * invented: without either source, the client declares that it cannot answer.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { refusal } from "core/errors.ts";
import {
  type McpQuestion,
  type McpReply,
  parseReply,
  type QuestionField,
} from "core/mcp/question.ts";
import { err, ok, type Result } from "core/result.ts";

/** Answers one question. */
export type Answerer = (question: McpQuestion) => Promise<McpReply>;

/** Maximum number of attempts that a person has per field. */
const TRIES = 3;

/** Parses `--answer name=value`. */
export function parseAnswers(
  texts: readonly string[],
): Result<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>();
  for (const text of texts) {
    const at = text.indexOf("=");
    const name = text.slice(0, Math.max(0, at));
    if (name === "" || answers.has(name)) {
      return err(refusal(
        "answer-invalid",
        "Cannot call the tool: an --answer is not name=value, or repeats a name",
        { kind: "usage" },
      ));
    }
    answers.set(name, text.slice(at + 1));
  }
  return ok(answers);
}

/**
 * Returns the function that answers a server's questions; undefined when there is no source of
 * answers.
 */
export function answererOf(
  { terminal, promptLine }: Pick<VerbContext, "terminal" | "promptLine">,
  mcp: string,
  given: ReadonlyMap<string, string>,
): Answerer | undefined {
  if (given.size === 0 && !terminal.live) return undefined;
  return async (question) => {
    const head = `MCP "${mcp}" asks: ${question.message}`;
    if (question.mode === "url") return await askUrl(head, question.url, promptLine);
    const content: Record<string, unknown> = {};
    for (const [at, field] of question.fields.entries()) {
      const intro = at === 0 ? `${head}\n` : "";
      // Without a terminal, a field without --answer gets its default or is omitted.
      const value = given.has(field.name) || !terminal.live
        ? parseReply(field, given.get(field.name) ?? "")
        : await askField(field, intro, promptLine);
      if (!value.ok) return { action: value.error === "declined" ? "decline" : "cancel" };
      if (value.value !== undefined) content[field.name] = value.value;
    }
    if (question.fields.length > 0) return { action: "accept", content };
    return await agree(`${head} [y/N] `, promptLine);
  };
}

type Prompt = VerbContext["promptLine"];

async function agree(label: string, prompt: Prompt): Promise<McpReply> {
  const typed = await prompt(label);
  if (typed === undefined) return { action: "cancel" };
  return /^y(es)?$/i.test(typed) ? { action: "accept", content: {} } : { action: "decline" };
}

/** Asks whether the person has opened the address. This program never fetches it. */
async function askUrl(head: string, url: string, prompt: Prompt): Promise<McpReply> {
  const label = `${head}\nIt asks you to open this address at ${
    new URL(url).host
  }:\n  ${url}\nHave you opened it? [y/N] `;
  const reply = await agree(label, prompt);
  return reply.action === "accept" ? { action: "accept" } : reply;
}

async function askField(
  field: QuestionField,
  intro: string,
  prompt: Prompt,
): Promise<Result<unknown, "declined" | "given-up">> {
  let lead = intro;
  for (let round = 0; round < TRIES; round++) {
    const typed = await prompt(`${lead}${fieldText(field)}: `);
    if (typed === undefined) return err("given-up");
    if (typed === "!") return err("declined");
    const value = parseReply(field, typed);
    if (value.ok) return value;
    lead = `  ${value.error}\n`;
  }
  return err("given-up");
}

function fieldText({ label, description, choices, type, fallback, isRequired }: QuestionField) {
  const hints = [
    ...(description === "" || description === label ? [] : [description]),
    ...(choices.length === 0
      ? []
      : [choices.map((one, at) => `${at + 1} ${one.label}`).join(", ")]),
    ...(type === "boolean" ? ["yes or no"] : []),
    ...(fallback === undefined ? isRequired ? [] : ["may be left out"] : [
      `default ${Array.isArray(fallback) ? fallback.join(",") : String(fallback)}`,
    ]),
    'type "!" to decline',
  ];
  return `  ${label} (${hints.join("; ")})`;
}
