/**
 * Bounds of files between owners and agents, each with its unit.
 *
 * @module
 */

import { DAY_MS } from "core/text/duration.ts";

const KIB = 1024;

/** Files that come with messages, and files that agents offer. */
export const FILE_LIMITS = {
  /** Files that come with one message, each one's size, and how long one may take. */
  filesMax: 10,
  fileBytesMax: 20 * KIB * KIB,
  fileSeconds: 60,
  /** Bytes of a file in one frame; base64 makes it a third longer. */
  fileChunkBytes: 384 * KIB,
  /** Files that are fetched at once, and those of one owner. */
  fetchesAtOnceMax: 16,
  ownerFetchesAtOnceMax: 2,
  /** Files of one agent that wait for their owner's consent, and how long. */
  fileOffersMax: 8,
  fileOfferMs: DAY_MS,
} as const;
