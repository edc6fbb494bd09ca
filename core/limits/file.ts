/**
 * Limits of files between owners and agents, each with its unit.
 *
 * @module
 */

import { DAY_MS } from "core/text/duration.ts";

const KIB = 1024;

/** Files attached to messages, and files that agents offer. */
export const FILE_LIMITS = {
  /** Files of one message, the size of each, and the time to fetch each. */
  filesMax: 10,
  fileBytesMax: 20 * KIB * KIB,
  fileSeconds: 60,
  /** Largest number of a file in its turn: 64 of the message, and produced ones. */
  perTurnMax: 128,
  /** Turns whose files an agent keeps, and the bytes of all of them. */
  turnsKept: 64,
  keptBytesMax: 512 * KIB * KIB,
  /** Bytes of a file in one frame; base64 makes them a third longer. */
  fileChunkBytes: 384 * KIB,
  /** Concurrent fetches, in total and per owner. */
  concurrentFetchesMax: 16,
  concurrentFetchesPerOwnerMax: 2,
  /** Offered files of one agent that await their owner's consent, and for how long. */
  fileOffersMax: 8,
  fileOfferMs: DAY_MS,
} as const;
