/**
 * One token of an argument list. The platform's own parser produces the tokens; the verb table
 * validates them.
 *
 * @module
 */

/** One token of an argument list. */
export type ArgumentToken =
  | { readonly kind: "positional"; readonly value: string }
  | {
    readonly kind: "option";
    readonly name: string;
    /** The option as typed: `--force`, `-f`. */
    readonly rawName: string;
    readonly value: string | undefined;
    readonly isInline: boolean;
  };
