/**
 * How a reader of HTTP/1.1 reads the bytes of a connection: the messages in order, where each
 * begins, and how the connection ends.
 *
 * @module
 */

/** One message, a request or an answer. Fields of the other kind are empty or 0. */
export interface Message {
  readonly method: string;
  readonly target: string;
  readonly status: number;
  /** Minor version of HTTP/1. */
  readonly minor: number;
  /** Names in lowercase, in the order of the message. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The decoded body; a character is a byte. */
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
  /** The reader stopped after a message because it was the last one. */
  | { readonly kind: "closed" }
  /** What follows belongs to another protocol. */
  | { readonly kind: "upgraded"; readonly rest: string }
  | { readonly kind: "refused"; readonly stage: "head" | "body"; readonly reason: string };

/** The reading of a whole connection. */
export interface Reading {
  readonly messages: readonly Message[];
  /** Where each message begins, and finally where the next one would begin. */
  readonly starts: readonly number[];
  readonly ending: Ending;
}
