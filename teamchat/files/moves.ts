/**
 * Both directions of files, with what they need of the rest: waking an agent, telling it.
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

/** What of the agents they call. */
export type FileHooks =
  & Pick<IncomingParts, "onSettled">
  & Pick<OutgoingParts, "onEvent" | "placeFor">;

/** Everything else that they are made of. */
export type FileMovesParts =
  & Omit<IncomingParts, keyof FileHooks>
  & Omit<OutgoingParts, keyof FileHooks>;

/** Makes both; `folder` is theirs alone. */
export function createFileMoves(parts: FileMovesParts, hooks: FileHooks): FileMoves {
  const { folder } = parts;
  return {
    incoming: createIncomingFiles({ ...parts, ...hooks, folder: `${folder}/in` }),
    outgoing: createOutgoingFiles({ ...parts, ...hooks, folder: `${folder}/out` }),
  };
}
