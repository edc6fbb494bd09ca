/**
 * A refusal: a stable code for scripts, a sentence for people, and commands to paste. Nothing here
 * prints or exits; each boundary has its own mapper (`cli/exit.ts`, `gateway/cockpit/deny.ts`,
 * `gateway/dial/register.ts`, `core/verbs/daemon_frames.ts`).
 *
 * Message form: `Cannot <verb> <object>: <state found>, <state wanted>`. Sentence case, no final
 * period, user-supplied names in double quotes, never the value of a secret.
 *
 * @module
 */

/**
 * Decides the exit code and HTTP status class: `refused` (1), `usage` and `settings` (2), `denied`
 * (4). `refused` is about the state found, `denied` about the caller's rights.
 */
export type RefusalKind = "refused" | "usage" | "settings" | "denied";

/** Why something was not done. A value: return it, never throw it. */
export interface Refusal {
  /** Stable kebab-case code, listed in `docs/errors.md`. */
  readonly code: string;
  readonly kind: RefusalKind;
  /** One sentence without final period. */
  readonly message: string;
  /** Further faults of the same input, one line each, in the input's order. */
  readonly details: readonly string[];
  /** Next steps, each a command that can be pasted. */
  readonly hints: readonly string[];
}

/** Builds a refusal; `kind` is `refused` by default. */
export function refusal(
  code: string,
  message: string,
  more: {
    readonly kind?: RefusalKind;
    readonly details?: readonly string[];
    readonly hints?: readonly string[];
  } = {},
): Refusal {
  return {
    code,
    kind: more.kind ?? "refused",
    message,
    details: more.details ?? [],
    hints: more.hints ?? [],
  };
}

/** Returns the message of any thrown value, for logs and for the detail after a colon. */
export function errorText(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
