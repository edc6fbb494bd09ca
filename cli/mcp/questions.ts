/**
 * Answers to the questions that a server asks during `mcp call` and `mcp read`. They come from
 * `--answer`, or from the person at the terminal, who sees which server asks. Without either
 * source, the client declares that it cannot answer.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { fillForm, parseNamed } from "cli/questions/fill_form.ts";
import { refusal } from "core/errors.ts";
import type { QuestionForm, QuestionReply } from "core/questions/form.ts";
import { err, ok, type Result } from "core/result.ts";

/** Answers one question. */
export type Answerer = (question: QuestionForm) => Promise<QuestionReply>;

/** Parses `--answer name=value`. */
export function parseAnswers(
  texts: readonly string[],
): Result<ReadonlyMap<string, string>> {
  const answers = parseNamed(texts);
  return answers === undefined
    ? err(refusal(
      "answer-invalid",
      "Cannot call the tool: an --answer is not name=value, or repeats a name",
      { kind: "usage" },
    ))
    : ok(answers);
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
  return (question) =>
    fillForm(question, {
      head: `MCP "${mcp}" asks: ${question.message}`.trimEnd(),
      given,
      // Only a person can agree, or say whether an address was opened.
      prompt: terminal.live || question.fields.length === 0 ? promptLine : undefined,
    });
}
