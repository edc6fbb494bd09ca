/**
 * Reading what an agent keeps in its home, as root: the agent may put a link or a pipe in place of
 * any file there, so nothing is followed and nothing is waited for. What is believed of the text is
 * for the caller to say.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";

/** A pipe in place of a file would keep its reader waiting. */
const READ_MS_MAX = 1_000;

/** Returns the text of a plain file of at most `bytesMax`; undefined for anything else. */
export async function readHomeText(
  { ports }: Pick<VerbContext, "ports">,
  path: string,
  bytesMax: number,
): Promise<string | undefined> {
  const late = Promise.withResolvers<undefined>();
  const cancel = ports.clock.after(READ_MS_MAX, () => late.resolve(undefined));
  try {
    const stat = await ports.files.stat(path);
    if (stat?.kind !== "file" || stat.size > bytesMax) return undefined;
    // It may be another thing by now, which costs the wait and tells nothing.
    return await Promise.race([ports.files.readText(path), late.promise]);
  } catch {
    // A folder that cannot be read tells nothing.
    return undefined;
  } finally {
    cancel();
  }
}
