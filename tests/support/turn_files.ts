/**
 * Files of turns in memory, for a local socket whose turns are not tested.
 *
 * @module
 */

import { createLocalTurnFiles, type LocalTurnFiles } from "units/dial/local_turn_files.ts";
import { openTurnFolder, type TurnFolder } from "units/dial/turn_folder.ts";
import { memoryFiles } from "tests/fakes/files.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { seededRandom } from "tests/fakes/random.ts";

/** An empty folder of the files of turns. */
export function memoryTurnFolder(): TurnFolder {
  return openTurnFolder({ files: memoryFiles(), folder: "/files", log: recordingLog() });
}

/** Opens the files of the connections of a local socket. */
export function memoryTurnFiles(): () => LocalTurnFiles {
  return createLocalTurnFiles(memoryTurnFolder(), seededRandom(1));
}
