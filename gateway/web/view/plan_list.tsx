/**
 * The todo list of a turn.
 *
 * @module
 */

import { cleanLine } from "core/text/clean.ts";
import type { PlanStep } from "gateway/web/state/extra_steps.ts";

const WORDS = { pending: "to do", active: "in progress", done: "done" } as const;
const MARKS = { pending: "○", active: "◐", done: "●" } as const;

/** The list as it was last written. */
export function PlanList({ step }: { readonly step: PlanStep }) {
  return (
    <ul class="plan" role="list" aria-label="Todo list">
      {step.entries.map(({ text, state }, index) => (
        <li class={`is-${state}`} key={index}>
          <span aria-hidden="true">{MARKS[state]}</span> {cleanLine(text)}
          <span class="unseen">, {WORDS[state]}</span>
        </li>
      ))}
    </ul>
  );
}
