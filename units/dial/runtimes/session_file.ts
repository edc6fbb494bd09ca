/**
 * Files with the ids of a runtime's conversations: one for the default conversation, and one for
 * each other conversation in the folder `sessions` beside it. Their number is bounded. The one that
 * was unused for longest is forgotten first.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import { type DriverPorts, writeOwn } from "units/dial/runtimes/launch.ts";

/** Maximum number of conversations whose ids are kept, besides the default one. */
export const CONVERSATIONS_MAX = 1_000;
/** Number of ids that are removed at once, so that few new conversations must read all times. */
const REMOVED_AT_ONCE = 100;

/**
 * Returns the path of a conversation's file, and marks it as used. If there is no room for a new
 * one, removes the oldest files. Never rejects: at worst too many files stay.
 */
export async function openSessionFile(
  { files, log }: Pick<DriverPorts, "files" | "log">,
  defaultFile: string,
  conversation: string | undefined,
): Promise<string> {
  if (conversation === undefined) return defaultFile;
  const folder = `${defaultFile.slice(0, defaultFile.lastIndexOf("/"))}/sessions`;
  const path = `${folder}/${conversation}.json`;
  try {
    const text = await files.readText(path);
    // Writing it again sets its time.
    if (text !== undefined) await writeOwn(files, path, text);
    else await removeOldest(files, folder);
  } catch (thrown) {
    log.warning("conversations not tidied", { conversation, reason: errorText(thrown) });
  }
  return path;
}

async function removeOldest(files: DriverPorts["files"], folder: string): Promise<void> {
  if (await files.stat(folder) === undefined) return;
  const names = (await files.list(folder)).filter((name) => name.endsWith(".json"));
  if (names.length < CONVERSATIONS_MAX) return;
  const times = await Promise.all(names.map(async (name) => {
    const path = `${folder}/${name}`;
    return { path, at: (await files.stat(path))?.mtimeMs ?? 0 };
  }));
  times.sort((one, other) => one.at - other.at);
  for (const { path } of times.slice(0, names.length - CONVERSATIONS_MAX + REMOVED_AT_ONCE)) {
    await files.remove(path);
  }
}
