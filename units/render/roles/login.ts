/**
 * The unit of the login proxy: its own user, its state folder, one listener, and access to the
 * cockpit. No I/O. See docs/design.md#programs.
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import type { Unit } from "core/text/unit_file.ts";
import { LOGIN_ENV, LOGIN_USER } from "units/render/roles/login_env.ts";
import { renderNetworkRole } from "units/render/roles/network_role.ts";
import { GATEWAY_UNIT, LOGIN_UNIT } from "units/render/unit_name.ts";

/** Renders `fleetctl-login.service`. */
export function renderLogin(paths: Paths): Unit {
  return renderNetworkRole(paths, {
    role: "login",
    unit: LOGIN_UNIT,
    description: "fleetctl login proxy in front of the cockpit",
    user: LOGIN_USER,
    env: LOGIN_ENV,
    after: [GATEWAY_UNIT],
    stopTimeout: { value: "15" },
    socketsWhy: "Two sockets per open stream",
  });
}
