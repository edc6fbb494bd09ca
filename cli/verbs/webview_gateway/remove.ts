/**
 * `fleetctl webview-gateway remove`: removes the webview gateway from this host. Refused while the
 * login proxy of this host is in front of it, and while turns wait in it.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { type Options, parseRemoval, removeRole } from "cli/remove_role.ts";
import { countRows } from "cli/waiting_rows.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { HostRoles } from "core/ledger/host_roles.ts";
import type { Result } from "core/result.ts";
import { GATEWAY_UNIT } from "units/render/unit_name.ts";

export type { Options } from "cli/remove_role.ts";
export const parseOptions = parseRemoval;

/** Removes the role. */
export function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  return removeRole(context, {
    section: "gateway",
    command: "webview-gateway",
    noun: "the webview gateway",
    marker: "webview_gateway",
    units: [GATEWAY_UNIT],
    state: [context.paths.role("gateway")],
    holds: "transcripts, turns and approvals",
    refusal: (roles) => whatHolds(context, roles, options),
  }, options);
}

async function whatHolds(
  context: VerbContext,
  roles: HostRoles,
  { isDespiteWaiting }: Options,
): Promise<Refusal | undefined> {
  if (roles.gateway !== undefined && roles.login !== undefined) {
    return refusal(
      "login-needs-gateway",
      "Cannot remove the webview gateway: the login proxy of this host is in front of it, must " +
        "be removed first",
      { hints: ["fleetctl webview-login remove"] },
    );
  }
  if (isDespiteWaiting) return undefined;
  const path = `${context.paths.role("gateway")}/gateway.db`;
  const turns = await countRows(context, path, { table: "turns", where: "state <> 'ended'" });
  return turns === 0 ? undefined : refusal(
    "gateway-turns-wait",
    `Cannot remove the webview gateway: ${turns} turns wait there, must be none`,
    {
      details: [
        "they wait for agents that are away or busy, and continue when it is installed again",
      ],
      hints: ["fleetctl agents list", "fleetctl webview-gateway remove --despite-waiting"],
    },
  );
}
