/**
 * The spend ceilings of one agent, which `apply` renders into a file. The dial unit reads it at
 * each comparison, so that a new ceiling needs no restart.
 *
 * @module
 */

import { errorText, refusal } from "core/errors.ts";
import type { Files } from "core/ports/files.ts";
import { err, ok, type Result } from "core/result.ts";
import { type Ceiling, parseCeilings } from "core/usage/ceiling.ts";

/**
 * Reads the ceilings of `agent`; none if there is no file. A file that cannot be used is an error,
 * because the agent must not spend without its ceilings.
 */
export async function readCeilingFile(
  files: Pick<Files, "readText">,
  path: string,
  agent: string,
): Promise<Result<readonly Ceiling[]>> {
  let text: string | undefined;
  try {
    text = await files.readText(path);
  } catch (thrown) {
    return err(unread(agent, errorText(thrown)));
  }
  if (text === undefined) return ok([]);
  const parsed = parseCeilings(text.trim());
  return parsed.ok ? parsed : err(unread(agent, `${JSON.stringify(path)} is damaged`));
}

function unread(agent: string, found: string) {
  return refusal(
    "ceiling-unread",
    `Cannot use the model: the ceilings of agent "${agent}" cannot be read: ${found}`,
    { hints: ["fleetctl apply"] },
  );
}
