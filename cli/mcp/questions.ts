/**
 * Answers to what a server asks in the middle of `mcp call` and `mcp read`: from `--answer`, or from
 * the person at the terminal, who sees which server asks. Nothing is answered for anybody: without
 * either, the server is told beforehand that it may not ask.
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
} from "core/mcp_question.ts";
import { err, ok, type Result } from "core/result.ts";

/** Answers one question. */
export type Answerer = (question: McpQuestion) => Promise<McpReply>;

/** Times that a person is asked for one field. */
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
        "Cannot call the tool: an --answer is unusable, must be name=value and each name once",
        { kind: "usage" },
      ));
    }
    answers.set(name, text.slice(at + 1));
  }
  return ok(answers);
}

/** Returns who answers; undefined when nobody can. */
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
      // Without a terminal, what was not given is the default or left out.
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

/** The person opens the address, or does not: this program fetches nothing from it. */
async function askUrl(head: string, url: string, prompt: Prompt): Promise<McpReply> {
  const label = `${head}\nIt wants you to open, at ${
    new URL(url).host
  }:\n  ${url}\nDid you? [y/N] `;
  const reply = await agree(label, prompt);
  return reply.action === "accept" ? { action: "accept" } : reply;
}

async function askField(
  field: QuestionField,
  intro: string,
  prompt: Prompt,
): Promise<Result<unknown, "declined" | "gone">> {
  let lead = intro;
  for (let round = 0; round < TRIES; round++) {
    const typed = await prompt(`${lead}${fieldText(field)}: `);
    if (typed === undefined) return err("gone");
    if (typed === "!") return err("declined");
    const value = parseReply(field, typed);
    if (value.ok) return value;
    lead = `  ${value.error}\n`;
  }
  return err("gone");
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
    "! to decline",
  ];
  return `  ${label} (${hints.join("; ")})`;
}
