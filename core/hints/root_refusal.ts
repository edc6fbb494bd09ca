/**
 * Refusals for a root folder that cannot be used, with their next steps. No I/O.
 *
 * @module
 */

import { errorText, type Refusal, refusal } from "core/errors.ts";
import { FileFault } from "core/ports/files.ts";
import { err, ok, type Result } from "core/result.ts";
import { quoteShell } from "core/text/quote.ts";

/** Metadata of an existing root folder. */
export interface RootFolder {
  readonly uid: number;
  readonly mode: number;
}

/**
 * Refuses a root folder that another user could change. Its programs run with the rights of the
 * user who starts them, and the folder's owner is the operator of its host.
 */
export function checkRootFolder(
  root: string,
  folder: RootFolder | undefined,
  ownUid: number,
): Result<void> {
  if (folder === undefined) return ok(undefined);
  if (folder.uid !== ownUid) {
    return err(refusal(
      "root-foreign",
      `Cannot use root "${root}": it belongs to uid ${folder.uid}, must be yours (uid ${ownUid})`,
      { hints: ["fleetctl up --root ~/.fleetctl"] },
    ));
  }
  if ((folder.mode & 0o002) === 0) return ok(undefined);
  return err(refusal(
    "root-foreign",
    `Cannot use root "${root}": it is world-writable, must be writable by you only`,
    { hints: [`chmod o-w ${quoteShell(root)}`] },
  ));
}

const STATES: Readonly<Record<string, string>> = {
  ENOSPC: "no space is left on its disk",
  EROFS: "its file system is read-only",
  EACCES: "it is not writable for this user",
  EPERM: "it is not writable for this user",
  ENOTDIR: "a part of the path is a file, must be a folder",
  EEXIST: "a part of the path is a file, must be a folder",
};

/** Returns the refusal that explains why a root cannot be used. */
export function rootRefusal(root: string, thrown: unknown): Refusal {
  const code = thrown instanceof FileFault ? thrown.code : "";
  return refusal(
    "root-unusable",
    `Cannot use root "${root}": ${STATES[code] ?? errorText(thrown)}`,
    {
      hints: [code === "ENOSPC" ? `df -h ${root}` : "fleetctl up --root /tmp/fleetctl"],
    },
  );
}
