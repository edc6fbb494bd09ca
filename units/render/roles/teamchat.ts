/**
 * The units of the team-chat gateway. The receiver has the public listener, may reach the host of
 * the connector's keys, and has no client secret. The sender has the turns, the agents and the
 * secret. They are one unit where messages and agents use one address. No I/O. See
 * docs/design.md#programs.
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import type { Unit } from "core/text/unit_file.ts";
import { renderNetworkRole } from "units/render/roles/network_role.ts";
import {
  RECEIVER_ENV,
  RECEIVER_USER,
  TEAMCHAT_ENV,
  TEAMCHAT_USER,
} from "units/render/roles/teamchat_env.ts";
import { TEAMCHAT_RECEIVER_UNIT, TEAMCHAT_UNIT } from "units/render/unit_name.ts";

/** Renders `fleetctl-teamchat.service`. */
export function renderTeamchat(paths: Paths, isApart: boolean): Unit {
  return renderNetworkRole(paths, {
    role: "teamchat",
    unit: TEAMCHAT_UNIT,
    description: "fleetctl team-chat gateway",
    user: TEAMCHAT_USER,
    env: TEAMCHAT_ENV,
    ...(isApart
      ? {
        group: { value: RECEIVER_USER, why: "The sender connects to the socket of the receiver" },
      }
      : {}),
    stopTimeout: {
      value: "20",
      why: "Waits for requests to the platform that are in progress",
    },
    socketsWhy: "A socket per agent",
  });
}

/** Renders `fleetctl-teamchat-receiver.service`. */
export function renderTeamchatReceiver(paths: Paths): Unit {
  return renderNetworkRole(paths, {
    role: "teamchat-receiver",
    unit: TEAMCHAT_RECEIVER_UNIT,
    description: "fleetctl team-chat gateway, receiver",
    user: RECEIVER_USER,
    env: RECEIVER_ENV,
    stateMode: {
      value: "0710",
      why: "The sender can reach the socket, but cannot list the folder",
    },
    stopTimeout: { value: "20", why: "Answers deliveries that are in progress" },
    socketsWhy: "A socket per delivery of the platform",
  });
}
