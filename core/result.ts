/**
 * The one type with which a function reports a condition that a user or a peer can cause.
 * Exceptions are for broken machines and bugs; only adapters and `main.ts` catch them.
 *
 * @module
 */

import type { Refusal } from "core/errors.ts";

/** A value, or the reason for its absence. */
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
