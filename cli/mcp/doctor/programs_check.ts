/**
 * The check of `fleetctl mcp doctor` for programs that a server needs on its host. A server may
 * start without them and fail at its first call, so the handshake does not detect this.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import { refusal } from "core/errors.ts";
import type { Processes } from "core/ports/processes.ts";
import { err, ok, type Result } from "core/result.ts";

/** Returns the programs found. Refuses with `program-missing` at the first missing one. */
export async function checkPrograms(
  { hostPrograms, name }: Pick<Manifest, "hostPrograms" | "name">,
  processes: Pick<Processes, "which">,
): Promise<Result<string>> {
  const found: string[] = [];
  for (const { anyOf, install } of hostPrograms) {
    const path = await processes.which(...anyOf);
    if (path === undefined) {
      return err(refusal(
        "program-missing",
        `Cannot use MCP "${name}": ${anyOf.join(", ")} ${
          anyOf.length === 1 ? "is" : "are"
        } not on this host, ${anyOf.length === 1 ? "it" : "one of them"} must be`,
        { hints: [install] },
      ));
    }
    found.push(path);
  }
  return ok(found.length === 0 ? "it needs none" : found.join(", "));
}
