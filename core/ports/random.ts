/**
 * The port of randomness.
 *
 * @module
 */

/** Unpredictable bytes, and version 4 UUIDs built from them. */
export interface Random {
  bytes(length: number): Uint8Array<ArrayBuffer>;
  uuid(): string;
  /** A number in [0, 1), for jitter only. */
  fraction(): number;
}
