/**
 * The tool `todo`: replaces the todo list of the conversation. The list is shown to the owner, and
 * stays in the prompt when older messages no longer are.
 *
 * @module
 */

import * as z from "zod";
import { PLAN_LIMITS, PLAN_STATES, type PlanEntry } from "core/limits/plan.ts";
import { checkInput, failed, type Tool } from "units/agent_loop/tools/tool.ts";

const todoInput = z.object({
  items: z.array(z.object({
    text: z.string().trim().min(1).max(PLAN_LIMITS.entryLengthMax),
    state: z.enum(PLAN_STATES),
  })).max(PLAN_LIMITS.entriesMax),
});

/** Creates the tool. It changes nothing but the list, so no mode asks about it. */
export function todoTool(): Tool {
  return {
    name: "todo",
    tool: "todo",
    mcp: undefined,
    kind: "read",
    isConcurrent: false,
    description:
      "Writes the todo list of this conversation, which your owner sees. Use it for work of " +
      "three or more steps: write all steps at first, then the whole list again whenever a step " +
      "begins or is done. At most one item is active. An empty list removes it.",
    inputSchema: {
      type: "object",
      properties: {
        items: {
          type: "array",
          maxItems: PLAN_LIMITS.entriesMax,
          items: {
            type: "object",
            properties: {
              text: { type: "string", maxLength: PLAN_LIMITS.entryLengthMax },
              state: { type: "string", enum: [...PLAN_STATES] },
            },
            required: ["text", "state"],
          },
        },
      },
      required: ["items"],
    },
    run: (given) => {
      const checked = checkInput(todoInput, given);
      if (!checked.ok) return Promise.resolve(failed(checked.error));
      const plan = checked.value.items;
      const left = plan.filter(({ state }) => state !== "done").length;
      const text = `The list has ${plan.length} items, ${left} of them not done.`;
      return Promise.resolve({ status: "completed", text, plan });
    },
  };
}

const MARKS: Readonly<Record<PlanEntry["state"], string>> = {
  pending: "[ ]",
  active: "[>]",
  done: "[x]",
};

/** Prints a list for the model. */
export function printPlan(plan: readonly PlanEntry[]): string {
  return plan.map(({ text, state }) => `${MARKS[state]} ${text}`).join("\n");
}
