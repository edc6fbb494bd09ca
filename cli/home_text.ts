/**
 * Reading what an agent keeps in its home, as root: the agent may put a link or a pipe in place of
 * any file there, so nothing is followed and nothing is waited for. What is believed of the text is
 * for the caller to say.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";

/** Returns the text of a plain file of at most `bytesMax`; undefined for anything else. */
export async function readHomeText(
  { ports }: Pick<VerbContext, "ports">,
  path: string,
  bytesMax: number,
): Promise<string | undefined> {
  try {
    return await ports.files.readPlain(path, bytesMax);
  } catch {
    // A folder that cannot be read tells nothing.
    return undefined;
  }
}
