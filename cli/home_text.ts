/**
 * Reading what an agent keeps in its home, as root: the agent may put a link or a pipe in place of
 * any file or folder there, so nothing is read that is not the agent's own, and nothing is waited
 * for. What is believed of the text is for the caller to say.
 *
 * @module
 */

import type { AgentName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports.ts";

/** Root owns no home of an agent; where it seems to, a link could lead to any file of root's. */
const ROOT_UID = 0;

/** What reading takes; the context of a verb has it. */
export interface HomeReader {
  readonly ports: { readonly files: Pick<Files, "stat" | "readPlain"> };
  readonly paths: Paths;
}

/** Returns the text of a plain file of the agent's, of at most `bytesMax`; undefined for anything else. */
export async function readHomeText(
  { ports, paths }: HomeReader,
  agent: AgentName,
  { path, bytesMax }: { readonly path: string; readonly bytesMax: number },
): Promise<string | undefined> {
  try {
    // The folder that the homes are in is root's: nobody else can exchange a home.
    const home = await ports.files.stat(paths.home(agent));
    if (home?.kind !== "directory") return undefined;
    if (home.uid === ROOT_UID && paths.root === "/") return undefined;
    return await ports.files.readPlain(path, { bytesMax, uid: home.uid });
  } catch {
    // A folder that cannot be read tells nothing.
    return undefined;
  }
}
