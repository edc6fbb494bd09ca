/**
 * The desired slices and drop-ins that limit agents' resources. Pure. They are files, not units of
 * the plan: the service manager creates a slice with its first service.
 *
 * @module
 */

import { ROOT_OWNER } from "core/files/rendered_file.ts";
import type { DesiredPart, TaggedFile } from "units/reconcile/desired_part.ts";
import { unitFile } from "units/reconcile/desired_part.ts";
import type { Facts } from "units/reconcile/facts.ts";
import { renderAgentLimits, renderFleetSlice, renderOwnLimits } from "units/render/slices.ts";

/** Computes the slices; none if the host's service manager has no slices. */
export function desiredLimits({ limits, agents, paths }: Facts): DesiredPart {
  const none = { clients: [], units: [], faults: [], faultTags: new Map() };
  if (limits === undefined) return { ...none, files: [], folders: [] };
  const own = agents.flatMap((agent): readonly TaggedFile[] => {
    const file = renderOwnLimits(agent, limits.agent, paths);
    return file === undefined ? [] : [{ file, agent: agent.name }];
  });
  const dropIns = [{ file: renderAgentLimits(limits.agent, paths) }, ...own];
  return {
    ...none,
    files: [{ file: unitFile(renderFleetSlice(limits.all), paths) }, ...dropIns],
    folders: dropIns.map(({ file }) => ({
      path: file.path.slice(0, file.path.lastIndexOf("/")),
      mode: 0o755,
      owner: ROOT_OWNER,
    })),
  };
}
