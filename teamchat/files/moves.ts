/**
 * File transfers in both directions, with their callbacks to wake and notify an agent.
 *
 * @module
 */

import {
  createIncomingFiles,
  type IncomingDeps,
  type IncomingFiles,
} from "teamchat/files/incoming.ts";
import {
  createOutgoingFiles,
  type OutgoingDeps,
  type OutgoingFiles,
} from "teamchat/files/outgoing.ts";

/** Files in both directions. */
export interface FileMoves {
  readonly incoming: IncomingFiles;
  readonly outgoing: OutgoingFiles;
}

/** Callbacks to the agents. */
export type FileHooks =
  & Pick<IncomingDeps, "onSettled">
  & Pick<OutgoingDeps, "onEvent" | "placeFor">;

/** All other dependencies. */
export type FileMovesDeps =
  & Omit<IncomingDeps, keyof FileHooks>
  & Omit<OutgoingDeps, keyof FileHooks>;

/** Creates both; no other code uses `folder`. */
export function createFileMoves(deps: FileMovesDeps, hooks: FileHooks): FileMoves {
  const { folder } = deps;
  return {
    incoming: createIncomingFiles({ ...deps, ...hooks, folder: `${folder}/in` }),
    outgoing: createOutgoingFiles({ ...deps, ...hooks, folder: `${folder}/out` }),
  };
}
