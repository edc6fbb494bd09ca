/**
 * A question of an MCP with one required choice, for tests.
 *
 * @module
 */

import type { QuestionForm } from "core/questions/form.ts";

/** Asks for blue or red. */
export const COLOUR_FORM: QuestionForm = {
  mcp: "hub",
  message: "Which colour?",
  fields: [{
    name: "colour",
    title: "Colour",
    kind: "choice",
    required: true,
    options: [{ value: "b", label: "Blue" }, { value: "r", label: "Red" }],
  }],
};
