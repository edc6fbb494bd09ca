/**
 * Changes the host's additions to the default sets, under the verb lock. The change takes effect
 * with the next `apply`, which restarts agents.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { linesReport, type VerbReport } from "cli/output.ts";
import { underVerbLock } from "cli/planner.ts";
import type { McpName } from "core/names.ts";
import { ok, type Result } from "core/result.ts";

/** Replaces the text of the file with the result of `edit`. */
export async function changeDefaults(
  context: VerbContext,
  mcp: McpName,
  { did, edit }: {
    readonly did: "added" | "removed";
    readonly edit: (text: string) => Promise<Result<string>>;
  },
): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  return await underVerbLock(context, async () => {
    const text = await ports.files.readText(paths.defaultsFile) ?? "";
    const edited = await edit(text);
    if (!edited.ok) return edited;
    const isChanged = edited.value !== text;
    if (isChanged) {
      await ports.files.ensureDir(paths.etc);
      await ports.files.write(paths.defaultsFile, edited.value, { mode: 0o644 });
    }
    return ok(linesReport(
      { mcp, changed: isChanged },
      isChanged
        ? [
          `${did}  ${mcp} ${did === "added" ? "to" : "from"} the defaults of this host`,
          "agents follow with:",
          "  fleetctl apply",
        ]
        : [`unchanged  ${mcp} is ${did === "added" ? "" : "not "}in the defaults of this host`],
    ));
  });
}
