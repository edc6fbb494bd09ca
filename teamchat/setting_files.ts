/**
 * Reads the files that settings of the receiver and the sender name: the map of owners,
 * unless the setting contains it, and the description of a private cloud. Does not validate them: a
 * missing file is reported with the other faults of the settings.
 *
 * @module
 */

import type { Files } from "core/ports/files.ts";
import { isSettingFile, withSettingFiles } from "core/settings/setting_files.ts";
import type { Env } from "core/settings/settings.ts";
import { cloudFilePath } from "teamchat/config.ts";

/** Settings with the texts of their files. */
export interface SettingsWithFiles {
  readonly env: Env;
  /**
   * Text of the file that `TEAMS_CLOUD` names; undefined if it names none or the file is missing.
   */
  readonly cloudFile: string | undefined;
  /** Path that `TEAMS_AGENTS` names, if any; the file is watched for changes. */
  readonly agentsFile: string | undefined;
}

/** Reads the files that `given` names. */
export async function readSettingFiles(
  given: Env,
  files: Pick<Files, "readText">,
): Promise<SettingsWithFiles> {
  const env = await withSettingFiles(given, ["TEAMS_AGENTS"], files);
  const path = cloudFilePath(env);
  return {
    env,
    cloudFile: path === undefined ? undefined : await files.readText(path).catch(() => undefined),
    agentsFile: isSettingFile(given.TEAMS_AGENTS) ? given.TEAMS_AGENTS : undefined,
  };
}
