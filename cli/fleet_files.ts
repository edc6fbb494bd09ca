/**
 * Reads the files of this host that a sealed copy of a fleet contains.
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import { type CopiedFile, isCopiedPath } from "core/secrets/sealed_copy.ts";

/** Reads every file that is part of a copy. */
export async function readFleetFiles(
  files: Pick<Files, "list" | "readText" | "stat">,
  paths: Paths,
): Promise<readonly CopiedFile[]> {
  const found: CopiedFile[] = [];
  const prefix = paths.at("/").length;
  const walk = async (path: string): Promise<void> => {
    const stat = await files.stat(path);
    if (stat?.kind === "directory") {
      for (const name of [...await files.list(path)].sort()) await walk(`${path}/${name}`);
    } else if (stat?.kind === "file" && isCopiedPath(path.slice(prefix))) {
      const text = await files.readText(path);
      if (text !== undefined) found.push({ path: path.slice(prefix), text });
    }
  };
  const folders = [paths.agentsDir, paths.hostsDir, paths.overlayCatalog, paths.runtimesDir];
  const single = [paths.recipientsFile, paths.secretsFile, paths.rolesFile, paths.hostFile];
  const ofHost = [paths.defaultsFile, paths.pricesFile, paths.teamsCloudFile];
  for (const path of [...folders, ...single, ...ofHost]) await walk(path);
  return found;
}
