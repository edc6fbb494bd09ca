/**
 * What a host needs that runs the team-chat gateway: its unit, env file, keys and folder. Pure.
 *
 * @module
 */

import type { Refusal } from "core/errors.ts";
import {
  type DesiredFolder,
  type DesiredUnit,
  type TaggedFile,
  unitFile,
  wantedBy,
} from "units/reconcile/desired_part.ts";
import type { Facts } from "units/reconcile/facts.ts";
import { renderDialKeys } from "units/render/roles/dial_keys.ts";
import { renderTeamchat } from "units/render/roles/teamchat.ts";
import { renderTeamchatEnv, TEAMCHAT_USER } from "units/render/roles/teamchat_env.ts";

/** The gateway's part of a host. */
export interface TeamchatPart {
  readonly files: readonly TaggedFile[];
  readonly folders: readonly DesiredFolder[];
  readonly units: readonly DesiredUnit[];
  readonly faults: readonly Refusal[];
}

/** Works it out; `inputs` are the launcher and the permission set of its program. */
export function desiredTeamchat(facts: Facts, inputs: readonly string[]): TeamchatPart {
  const { paths, roles: { teamchat, gateway } } = facts;
  if (teamchat === undefined) return { files: [], folders: [], units: [], faults: [] };
  const unit = renderTeamchat(paths);
  const file = unitFile(unit, paths);
  const env = renderTeamchatEnv(teamchat, paths);
  const owner = { user: TEAMCHAT_USER, group: TEAMCHAT_USER };
  return {
    files: [
      { file },
      // Where the webview gateway runs as well, the same file is its part.
      ...(gateway === undefined ? [{ file: renderDialKeys(teamchat.dialKeys, paths) }] : []),
      ...(env.ok ? [{ file: env.value }] : []),
    ],
    folders: [{ path: paths.role("teamchat"), mode: 0o700, owner }],
    units: env.ok
      ? [{
        name: unit.name,
        kind: "teamchat",
        inputs: [file.content, env.value.content, ...inputs],
        softInputs: [],
        programs: ["fleetctl-teamchat"],
        links: [],
        wantedBy: wantedBy(unit),
      }]
      : [],
    faults: env.ok ? [] : [env.error],
  };
}
