/**
 * An argument list in pieces, as the platform's own parser splits it: a splitter makes them, the
 * verb table judges them.
 *
 * @module
 */

/** One piece of an argument list. */
export type ArgumentToken =
  | { readonly kind: "positional"; readonly value: string }
  | {
    readonly kind: "option";
    readonly name: string;
    /** As it was typed: `--force`, `-f`. */
    readonly rawName: string;
    readonly value: string | undefined;
    readonly isInline: boolean;
  };
