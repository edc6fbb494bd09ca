/**
 * The desired state of a host that runs the team-chat gateway: its units, env files, keys and
 * folders. Pure.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { Refusal } from "core/errors.ts";
import type { RenderedFile } from "core/files/rendered_file.ts";
import type { Paths } from "core/paths.ts";
import type { Result } from "core/result.ts";
import { isReceiverSeparate } from "core/teamchat/separate_receiver.ts";
import type { Unit } from "core/text/unit_file.ts";
import {
  type DesiredFolder,
  type DesiredSocket,
  type DesiredUnit,
  type TaggedFile,
  unitFile,
  wantedBy,
} from "units/reconcile/desired_part.ts";
import type { Facts } from "units/reconcile/facts.ts";
import { renderDialKeys } from "units/render/roles/dial_keys.ts";
import { renderTeamchat, renderTeamchatReceiver } from "units/render/roles/teamchat.ts";
import {
  agentsFile,
  RECEIVER_USER,
  renderReceiverEnv,
  renderTeamchatEnv,
  TEAMCHAT_USER,
} from "units/render/roles/teamchat_env.ts";

/** The team-chat gateway's part of the desired state. */
export interface TeamchatPart {
  readonly files: readonly TaggedFile[];
  readonly folders: readonly DesiredFolder[];
  readonly units: readonly DesiredUnit[];
  readonly faults: readonly Refusal[];
}

/** Returns the inputs of a unit's program: its launcher and its permission set. */
type InputsOf = (program: string, set: string) => readonly string[];

/** Computes the part. */
export function desiredTeamchat(facts: Facts, inputsOf: InputsOf): TeamchatPart {
  const { paths, roles: { teamchat, gateway } } = facts;
  if (teamchat === undefined) return { files: [], folders: [], units: [], faults: [] };
  const isApart = isReceiverSeparate(teamchat);
  const programs = [
    partOf({
      unit: renderTeamchat(paths, isApart),
      env: renderTeamchatEnv(teamchat, paths),
      kind: "teamchat",
      inputs: inputsOf("fleetctl-teamchat", "teamchat"),
      program: "fleetctl-teamchat",
      paths,
      folder: { path: paths.role("teamchat"), mode: 0o700, owner: ownerOf(TEAMCHAT_USER) },
    }),
    ...(isApart
      ? [partOf({
        unit: renderTeamchatReceiver(paths),
        env: renderReceiverEnv(teamchat, paths),
        kind: "teamchat-receiver",
        inputs: inputsOf("fleetctl-teamchat-receiver", "teamchat-receiver"),
        program: "fleetctl-teamchat-receiver",
        paths,
        socket: { path: paths.teamchatHandover },
        folder: {
          path: paths.role("teamchat-receiver"),
          mode: 0o710,
          owner: ownerOf(RECEIVER_USER),
        },
      })]
      : []),
  ];
  return {
    files: [
      // If the webview gateway also runs here, its part contains the same file.
      ...(gateway === undefined ? [{ file: renderDialKeys(teamchat.dialKeys, paths) }] : []),
      // Not an input of a unit: receiver and sender both watch the file.
      { file: agentsFile(teamchat, paths) },
      ...programs.flatMap(({ files }) => files),
    ],
    folders: programs.flatMap(({ folders }) => folders),
    units: programs.flatMap(({ units }) => units),
    faults: programs.flatMap(({ faults }) => faults),
  };
}

function ownerOf(user: string) {
  return { user, group: user };
}

function partOf(of: {
  readonly unit: Unit;
  readonly kind: DesiredUnit["kind"];
  readonly env: Result<RenderedFile>;
  readonly inputs: readonly string[];
  readonly program: string;
  readonly folder: DesiredFolder;
  readonly paths: Paths;
  readonly socket?: DesiredSocket;
}): TeamchatPart {
  const { unit, kind, env, inputs, program, folder, paths, socket } = of;
  const file = unitFile(unit, paths);
  if (!env.ok) return { files: [{ file }], folders: [folder], units: [], faults: [env.error] };
  return {
    files: [{ file }, { file: env.value }],
    folders: [folder],
    units: [{
      name: unit.name,
      kind,
      ...defined({ socket }),
      inputs: [file.content, env.value.content, ...inputs],
      softInputs: [],
      programs: [program],
      links: [],
      wantedBy: wantedBy(unit),
    }],
    faults: [],
  };
}
