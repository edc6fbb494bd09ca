/**
 * A question of a program in the transcript: who asked what, and what was answered.
 *
 * @module
 */

import { clean, cleanLine } from "core/text/clean.ts";
import { questions } from "gateway/web/app/questions.ts";
import { NEEDS_ANSWER } from "gateway/web/state/agents.ts";
import { askerOf } from "gateway/web/state/questions.ts";
import type { QuestionStep } from "gateway/web/state/turns.ts";

/** One question. */
export function QuestionView({ step, agent }: {
  readonly step: QuestionStep;
  readonly agent: string;
}) {
  const { form, rows } = step;
  const titles = form.fields.map(({ title }) => cleanLine(title)).join(" · ");
  const isNamed = form.message !== "" || rows.length > 0;
  return (
    <div class={`asked is-${step.state}`}>
      <p class="bubble-from">{cleanLine(askerOf(form, agent))} asked</p>
      {isNamed ? null : <p class="asked-message">{titles}</p>}
      {form.message === "" ? null : <p class="asked-message">{clean(form.message)}</p>}
      {rows.length === 0 ? null : (
        <dl class="asked-rows">
          {rows.map(({ title, text }) => (
            <div key={title}>
              <dt>{cleanLine(title)}</dt>
              <dd>{clean(text)}</dd>
            </div>
          ))}
        </dl>
      )}
      <p class="asked-state">{stateWords(step)}</p>
    </div>
  );
}

function stateWords({ id, state, by }: QuestionStep): string {
  const who = by === "" ? "" : ` by ${cleanLine(by)}`;
  switch (state) {
    case "asked":
      // The list knows what still waits; the events of an ended question may be out of the window.
      return questions.value.some((item) => item.id === id) ? NEEDS_ANSWER : "not answered";
    case "answered":
      return `answered${who}`;
    case "declined":
      return `declined${who}`;
    case "expired":
      return "expired without an answer";
    case "withdrawn":
      return "withdrawn: the agent no longer waits for it";
  }
}
