/**
 * How `agents model set` and `agents model show` print a model. Never prints its key.
 *
 * @module
 */

import { type ModelCard, modelText } from "core/runtimes/model_choice.ts";

/** Describes a model in lines. */
export function modelLines(agent: string, card: ModelCard): readonly string[] {
  const end = card.key_ends_with === null ? "" : `, ends with ${card.key_ends_with}`;
  return [
    `agent "${agent}" uses ${modelText(card)}`,
    ...(card.effort === null ? [] : [`effort   ${card.effort}`]),
    ...(card.fallback === null ? [] : [`fallback ${card.fallback}, when the model is overloaded`]),
    ...(card.provider === "demo"
      ? []
      : [`address  ${card.base_url}`, `key      ${card.key === "set" ? `set${end}` : "not set"}`]),
  ];
}
