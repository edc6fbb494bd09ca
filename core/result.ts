/**
 * The one shape in which a function reports something that a user or a peer can cause.
 * No throwing: exceptions are for broken machines and bugs, and only adapters and
 * `main.ts` catch them.
 *
 * @module
 */

import type { Refusal } from "core/errors.ts";

/** A value, or the reason why there is none. */
export type Result<T, E = Refusal> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: E };

/** Wraps a value as a success. */
export function ok<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value };
}

/** Wraps a reason as a failure. */
export function err<E>(error: E): { readonly ok: false; readonly error: E } {
  return { ok: false, error };
}
