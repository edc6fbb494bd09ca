/**
 * The unit of the webview gateway: its own user, its state folder and two listeners. No I/O. See
 * docs/design.md#programs.
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import type { Unit } from "core/text/unit_file.ts";
import { GATEWAY_USER } from "core/verbs/caller.ts";
import { renderNetworkRole } from "units/render/roles/network_role.ts";
import { GATEWAY_ENV } from "units/render/roles/role_env.ts";
import { GATEWAY_UNIT } from "units/render/unit_name.ts";

/** Renders `fleetctl-gateway.service`. */
export function renderGateway(paths: Paths): Unit {
  return renderNetworkRole(paths, {
    role: "gateway",
    unit: GATEWAY_UNIT,
    description: "fleetctl gateway: cockpit and dial-in router",
    user: GATEWAY_USER,
    env: GATEWAY_ENV,
    stopTimeout: { value: "15" },
    socketsWhy: "A stream per tab and a socket per agent",
  });
}
