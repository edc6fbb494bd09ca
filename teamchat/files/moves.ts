/**
 * File transfers in both directions, with their callbacks to wake and notify an agent.
 *
 * @module
 */

import {
  createIncomingFiles,
  type IncomingFiles,
  type IncomingParts,
} from "teamchat/files/incoming.ts";
import {
  createOutgoingFiles,
  type OutgoingFiles,
  type OutgoingParts,
} from "teamchat/files/outgoing.ts";

/** Files in both directions. */
export interface FileMoves {
  readonly incoming: IncomingFiles;
  readonly outgoing: OutgoingFiles;
}

/** Callbacks to the agents. */
export type FileHooks =
  & Pick<IncomingParts, "onSettled">
  & Pick<OutgoingParts, "onEvent" | "placeFor">;

/** All other dependencies. */
export type FileMovesParts =
  & Omit<IncomingParts, keyof FileHooks>
  & Omit<OutgoingParts, keyof FileHooks>;

/** Creates both; no other code uses `folder`. */
export function createFileMoves(parts: FileMovesParts, hooks: FileHooks): FileMoves {
  const { folder } = parts;
  return {
    incoming: createIncomingFiles({ ...parts, ...hooks, folder: `${folder}/in` }),
    outgoing: createOutgoingFiles({ ...parts, ...hooks, folder: `${folder}/out` }),
  };
}
