/**
 * The port of chance.
 *
 * @module
 */

/** Unpredictable bytes, and version 4 UUIDs of them. */
export interface Random {
  bytes(length: number): Uint8Array<ArrayBuffer>;
  uuid(): string;
  /** A number in [0, 1), for jitter only. */
  fraction(): number;
}
