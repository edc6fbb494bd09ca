/**
 * Questions to a person on the wire: schemas of the form and of the answer, as events, frames and
 * the local socket carry them. No I/O.
 *
 * @module
 */

import * as z from "zod";
import { QUESTION_LIMITS } from "core/limits/question.ts";
import { boundedForm, FIELD_KINDS, type QuestionForm } from "core/questions/form.ts";

const { fieldsMax, optionsMax, nameLengthMax } = QUESTION_LIMITS;

const value = z.union([
  z.string(),
  z.number(),
  z.boolean(),
  z.array(z.string()).max(optionsMax).readonly(),
]);

/** Answers by the names of fields. They are checked against the form where it is known. */
export const questionValues = z.record(z.string().max(nameLengthMax), value);

const option = z.object({
  value: z.string(),
  label: z.string(),
  description: z.string().optional(),
});

const field = z.object({
  name: z.string().min(1).max(nameLengthMax),
  title: z.string(),
  description: z.string().optional(),
  kind: z.enum(FIELD_KINDS),
  required: z.boolean(),
  options: z.array(option).max(optionsMax).readonly().optional(),
  allows_other: z.boolean().optional(),
  default: value.optional(),
  min: z.number().optional(),
  max: z.number().optional(),
  format: z.string().optional(),
});

/** Keys of a form. */
export const FORM_SHAPE = {
  /** Null for the program itself. */
  mcp: z.string().max(nameLengthMax).nullable(),
  message: z.string(),
  /** Shown as text, never opened by a program. */
  url: z.string().startsWith("https://").optional(),
  fields: z.array(field).max(fieldsMax).readonly(),
} as const;

/** Whether a form is within its limits, for a schema that includes `FORM_SHAPE`. */
export function isBounded({ mcp, message, url, fields }: QuestionForm): boolean {
  return boundedForm({ mcp, message, url, fields }).ok;
}
