/**
 * Confines the file tools to the folders that sandboxed commands see. Without this, the model could
 * read with `read` what a command must not see, or through a link that a command left behind. Links
 * are resolved first, and the tool gets the resolved path. No command runs in between, because none
 * outlives its call.
 *
 * @module
 */

import type { Files } from "core/ports/files.ts";
import { isWithin, type SandboxView } from "core/sandbox/command_sandbox.ts";
import { isRecord } from "core/text/json_object.ts";
import { failed, resolvePath, type Tool, type ToolFolders } from "units/agent_loop/tools/tool.ts";

type LinkFiles = Pick<Files, "realPath" | "readLink">;

/** Returns the tool with its paths confined to the view. */
export function confineFileTool(
  tool: Tool,
  view: SandboxView,
  { folders, files }: { readonly folders: ToolFolders; readonly files: LinkFiles },
): Tool {
  const open = tool.kind === "read" ? [...view.writable, ...view.readable] : view.writable;
  return {
    ...tool,
    async run(input, signal) {
      // The tool itself reports a path that is missing or not text.
      if (!isRecord(input) || typeof input.path !== "string") return await tool.run(input, signal);
      const path = resolvePath(input.path, folders);
      const real = await resolveLinks(path, files);
      const roots = await Promise.all(open.map((folder) => files.realPath(folder)));
      if (real === undefined || !roots.some((root) => root !== undefined && isWithin(real, root))) {
        return failed(
          `Cannot ${tool.name} ${JSON.stringify(path)}: it is outside of the sandbox, ` +
            `must be below ${open.map((folder) => JSON.stringify(folder)).join(" or ")} ` +
            "(sandbox-closed)",
        );
      }
      return await tool.run({ ...input, path: real }, signal);
    },
  };
}

/** Resolves the existing part of a path; undefined for a link whose target is missing. */
async function resolveLinks(path: string, files: LinkFiles): Promise<string | undefined> {
  const real = await files.realPath(path);
  if (real !== undefined || path === "/") return real ?? "/";
  if (await files.readLink(path) !== undefined) return undefined;
  const slash = path.lastIndexOf("/");
  const above = await resolveLinks(path.slice(0, slash) || "/", files);
  return above === undefined ? undefined : `${above === "/" ? "" : above}${path.slice(slash)}`;
}
