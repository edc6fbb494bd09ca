/**
 * Lines on the dial unit's local socket: how the agent's own programs write to other agents. One
 * JSON object per line and one answer per request, in order. The socket is 0600 in the agent's home.
 *
 * @module
 */

import { z } from "zod";

/** Program of the agent → dial unit. */
export const localRequest = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("message"),
    to: z.string().min(1).max(64),
    text: z.string(),
    /** Makes a repeated request harmless; made up by the dial unit when absent. */
    id: z.string().min(1).max(64).optional(),
  }),
  z.object({ type: z.literal("agents") }),
]);
/** Parsed request. */
export type LocalRequest = z.infer<typeof localRequest>;

/** Dial unit → program of the agent. */
export const localAnswer = z.union([
  z.discriminatedUnion("ok", [
    z.object({ type: z.literal("message_result"), ok: z.literal(true) }),
    z.object({
      type: z.literal("message_result"),
      ok: z.literal(false),
      code: z.string(),
      message: z.string(),
    }),
  ]),
  z.object({ type: z.literal("agents_result"), names: z.array(z.string()) }),
  /** The request could not be read or answered. */
  z.object({ type: z.literal("error"), code: z.string(), message: z.string() }),
]);
/** Parsed answer. */
export type LocalAnswer = z.infer<typeof localAnswer>;
