/**
 * What a reader of HTTP/1.1 makes of the bytes of a connection: the messages in their order, where
 * each begins, and how it ends.
 *
 * @module
 */

/** One message, a request or an answer. What the other kind has is empty or 0. */
export interface Message {
  readonly method: string;
  readonly target: string;
  readonly status: number;
  /** Minor version of HTTP/1. */
  readonly minor: number;
  /** Names in lowercase, in the order of the message. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Without its transfer coding; a character is a byte. */
  readonly body: string;
  readonly isKept: boolean;
  readonly isUpgrade: boolean;
}

/** How the reading of a connection ends. */
export type Ending =
  /** The connection ended between two messages, or with the last one. */
  | { readonly kind: "ended" }
  /** The connection ended within a message. */
  | { readonly kind: "cut"; readonly stage: "head" | "body" }
  /** The reader took nothing behind a message, because that was the last one. */
  | { readonly kind: "closed" }
  /** What follows belongs to another protocol. */
  | { readonly kind: "upgraded"; readonly rest: string }
  | { readonly kind: "refused"; readonly stage: "head" | "body"; readonly reason: string };

/** What a reader made of a connection. */
export interface Reading {
  readonly messages: readonly Message[];
  /** Where each message begins, and behind them where the next one would. */
  readonly starts: readonly number[];
  readonly ending: Ending;
}
