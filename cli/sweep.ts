/**
 * Removes temp files that an interrupted process left in the host's folders. They may contain a
 * key, so they are removed once they are too old to be in use.
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";

const TEMP_FILE = /^\..*\.fleetctl-tmp$/;
/** Longest time between creating a temp file and renaming it. */
const AGE_MS_MIN = 10 * 60 * 1000;

/** Removes old temp files from the folders that hold keys and settings. */
export async function sweepTempFiles(
  { files, clock }: { readonly files: Files; readonly clock: Clock },
  paths: Paths,
): Promise<void> {
  for (const folder of [paths.etc, paths.envDir]) {
    for (const name of await files.list(folder)) {
      if (!TEMP_FILE.test(name)) continue;
      const stat = await files.stat(`${folder}/${name}`);
      const isOld = stat !== undefined && clock.now() - stat.mtimeMs >= AGE_MS_MIN;
      if (isOld && stat.kind === "file") await files.remove(`${folder}/${name}`);
    }
  }
}
